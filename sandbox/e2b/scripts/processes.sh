# Lists or kills processes, with builtins only: nothing that a command may have replaced is asked, but bash itself.
#
# Arguments: `list`; or `tree ROOT ALONE SPARED...`; or `all SPARED...`. SPARED are PID:START of processes that were
# there before any command. ROOT is the process that started a command; ALONE is 1 where no other command runs.
# Prints PID:START of what it listed or killed, one a line; a list begins with the service that started this script.
# That one and those above it are spared always: they may have been started anew since SPARED were listed.
mode=$1
shift
root=0 alone=0
if [[ $mode == tree ]]; then
    root=$1 alone=$2
    shift 2
fi
declare -A spared=() start=() parent=() group=() session=() targets=() killed=() shared=() above=()
for one in "$@"; do spared[$one]=1; done

# A process that is a thread of the kernel, or a zombie, is left out.
scan() {
    local place pid line
    start=() parent=() group=() session=()
    for place in /proc/[0-9]*; do
        pid=${place#/proc/}
        line=
        IFS= read -r -d '' line 2>/dev/null <"$place/stat"
        [[ $line == *') '* ]] || continue
        set -- ${line##*) }
        [[ $pid == "$$" ]] && own_group=$3
        [[ $pid == "$$" || $1 == Z || $1 == X ]] && continue
        (( $7 & 0x200000 )) && continue
        parent[$pid]=$2 group[$pid]=$3 session[$pid]=$4 start[$pid]=${20}
    done 2>/dev/null
}

is_spared() { [[ -n ${above[$1]} || -n ${spared[$1:${start[$1]}]} ]]; }

# The first process, the service, and whatever the service was started by.
mark_above() {
    local pid=$PPID
    above=([1]=1)
    while [[ -n $pid && -z ${above[$pid]} ]]; do above[$pid]=1 pid=${parent[$pid]}; done
}

# Groups and sessions that hold one of the sandbox's own processes.
mark_shared() {
    local pid
    mark_above
    shared=([${own_group:-0}]=1)
    for pid in "${!start[@]}"; do
        is_spared "$pid" && shared[${group[$pid]}]=1 shared[${session[$pid]}]=1
    done
    [[ $mode == tree ]] && shared[${group[$root]:-0}]=1 shared[${session[$root]:-0}]=1
}

# A signal for the whole group of each target: a process whose number changes all the time does not escape that.
signal_groups() {
    local pid at
    local -A told=()
    for pid in "${!targets[@]}"; do
        at=${group[$pid]:-0}
        (( at > 1 )) && [[ -z ${shared[$at]}${told[$at]} ]] && kill "-$1" -- "-$at" 2>/dev/null
        told[$at]=1
    done
}

# An orphan younger than ROOT: its parent is gone, or is one of the sandbox's own that took it over.
is_stray() {
    (( alone && start[$1] > since )) || return 1
    [[ -z ${start[${parent[$1]}]} ]] || is_spared "${parent[$1]}"
}

# Everything below ROOT, what shares a process group or session with it, and, where no other command runs, orphans that
# are younger than ROOT.
choose_tree() {
    local pid of_it grew=1
    local -A groups=() sessions=()
    targets=()
    [[ -n ${start[$root]} ]] && targets[$root]=1
    while (( grew )); do
        grew=0
        for pid in "${!start[@]}"; do
            [[ -n ${targets[$pid]} ]] && continue
            is_spared "$pid" && continue
            of_it=${targets[${parent[$pid]}]}${groups[${group[$pid]}]}${sessions[${session[$pid]}]}
            if [[ -n $of_it ]] || is_stray "$pid"; then
                targets[$pid]=1 grew=1
                [[ -z ${shared[${group[$pid]}]} ]] && groups[${group[$pid]}]=1
                [[ -z ${shared[${session[$pid]}]} ]] && sessions[${session[$pid]}]=1
            fi
        done
    done
}

choose_all() {
    local pid
    targets=()
    for pid in "${!start[@]}"; do is_spared "$pid" || targets[$pid]=1; done
}

choose() { mark_shared; if [[ $mode == tree ]]; then choose_tree; else choose_all; fi; }

scan
if [[ $mode == list ]]; then
    printf '%s:%s\n' "$PPID" "${start[$PPID]:-0}"
    for pid in "${!start[@]}"; do printf '%s:%s\n' "$pid" "${start[$pid]}"; done
    exit 0
fi
since=${start[$root]:-0}
[[ $mode == tree && $since == 0 ]] && mode=all

# Stopped first, pass by pass, until no new one shows up: stopped processes cannot fork.
declare -A stopped=()
for (( pass = 0; pass < 60; pass++ )); do
    choose
    fresh=0
    for pid in "${!targets[@]}"; do
        [[ -n ${stopped[$pid]} ]] && continue
        stopped[$pid]=1 fresh=1
        kill -STOP "$pid" 2>/dev/null
    done
    (( fresh )) || break
    signal_groups STOP
    scan
done
for (( pass = 0; pass < 200; pass++ )); do
    for pid in "${!targets[@]}" "${!stopped[@]}"; do
        [[ -n ${start[$pid]} ]] && is_spared "$pid" && continue
        [[ -n ${start[$pid]} ]] && killed[$pid:${start[$pid]}]=1
        kill -KILL "$pid" 2>/dev/null
    done
    signal_groups KILL
    scan
    choose
    stopped=()
    (( ${#targets[@]} )) || break
done
for one in "${!killed[@]}"; do printf '%s\n' "$one"; done
(( ${#targets[@]} == 0 ))
