# Moves files and links whose names the service does not take out of one folder over what is in another.
#
# Arguments: the two folders, then two for each entry: its kind (folder or other) and its path in both, as `printf %b`
# reads it. What is in the way of it is removed, a link itself and not what it points to; a folder that is there stays.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
from=$1 to=$2
shift 2
while (( $# )); do
    kind=$1
    printf -v path '%b_' "$2"
    path=${path%_}
    shift 2
    if [[ $kind == folder ]]; then
        [[ -d $to/$path && ! -L $to/$path ]] && continue
        rm -rf -- "$to/$path"
        mkdir -- "$to/$path"
    else
        rm -rf -- "$to/$path"
        mv -T -- "$from/$path" "$to/$path"
    fi
done
