# Puts files, folders and links of an image in place, as an image builder does: links inside are followed.
#
# Arguments: the moment for times, the owner, then five for each entry: kind (folder, file, single or link), target,
# what is uploaded or what a link points to, mode, name of the source. `single` goes *into* a target that is a folder.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
moment=$1 owner=$2
shift 2
[[ $owner =~ ^[0-9]+$ ]] && owner=$owner:$owner
[[ $owner == *:* || $owner == root ]] || owner=$owner:

folders() { # path, mode, owner: makes what is missing
    [[ -d $1 ]] && return 0
    folders "$(dirname -- "$1")" 0755 root
    mkdir -- "$1"
    chown -- "$3" "$1"
    chmod -- "$2" "$1"
    touch -d "@$moment" -- "$1"
}

touched=()
while (( $# )); do
    kind=$1 target=$2 source=$3 mode=$4 name=$5
    shift 5
    if [[ $kind == folder ]]; then
        folders "$target" "$mode" "$owner"
        touched+=("$(dirname -- "$target")")
        continue
    fi
    [[ $kind == single && -d $target ]] && target=$target/$name
    folders "$(dirname -- "$target")" 0755 root
    touched+=("$(dirname -- "$target")")
    if [[ $kind == link ]]; then
        rm -f -- "$target"
        ln -s -- "$source" "$target"
    else
        [[ -d $target && ! -L $target ]] && { echo "$target: a folder lies where a file is to go" >&2; exit 1; }
        rm -f -- "$target"
        mv -- "$source" "$target"
        chmod -- "$mode" "$target"
    fi
    chown -h -- "$owner" "$target"
    touch -h -d "@$moment" -- "$target"
done
for folder in "${touched[@]}"; do touch -d "@$moment" -- "$folder"; done
