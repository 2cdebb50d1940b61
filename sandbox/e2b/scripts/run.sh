# Runs one command, tells how it ended, and stays while something the command left behind still writes to its pipes.
#
# Words, in the variables W0, W1 and so on up to the number N: one that nobody can guess, the folder, limits (file size
# in KiB, open files, processes), how many variables follow, those as NAME=VALUE, the command. They come as variables
# and not as arguments so that a command that looks for processes by their command line never finds this one. Builtins
# only, up to the command itself.
#
# The end is told on both streams as NUL, word, ":", status, line end: behind it on each stream lies nothing that the
# command itself wrote. The service that started us waits for the pipes to close, or closes them when we end; either way
# a process in the background would suffer.
words=()
for (( number = 0; number < N; number++ )); do
    name=W$number
    words+=("${!name}")
done
set -- "${words[@]}"
word=$1 folder=$2 file_size=$3 open_files=$4 processes=$5 count=$6
shift 6
variables=("${@:1:count}")
shift "$count"

tell() {
    printf '\0%s:%s\n' "$word" "$1"
    printf '\0%s:%s\n' "$word" "$1" >&2
}

cd -- "$folder" 2>/dev/null || { tell folder; exit 0; }
umask 022

limited() {
    ulimit -c 0
    ulimit -f "$file_size"
    ulimit -n "$open_files"
    ulimit -u "$processes"
} 2>/dev/null

found() {
    local one PATH=
    for one in "${variables[@]}"; do [[ $one == PATH=* ]] && PATH=${one#PATH=}; done
    [[ $1 == */* ]] && [[ -e $1 ]] || type -P -- "$1" >/dev/null
}

# Job control gives the command a process group of its own, by which its orphans can be found.
set -m
{
    set +m
    limited
    found "$1" || { printf '%s: command not found\n' "$1" >&2; exit 127; }
    exec /usr/bin/env -i "HOME=$HOME" "${variables[@]}" "$@"
} &
command=$!
set +m
exec 0</dev/null
wait "$command" 2>/dev/null
status=$?
tell "$status"

held() {
    local ours=/proc/$$/fd place
    for place in /proc/[0-9]*/fd; do
        [[ $place == "$ours" ]] && continue
        [[ $place/1 -ef $ours/1 || $place/1 -ef $ours/2 || $place/2 -ef $ours/1 || $place/2 -ef $ours/2 ]] && return 0
    done
    return 1
}

if held; then
    exec {clock}<> <(:)
    while held; do read -r -t 1 -u "$clock" _; done
fi
exit "$status"
