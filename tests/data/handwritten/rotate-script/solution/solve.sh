#!/bin/bash
cat > /opt/rotate/rotate.sh <<'SCRIPT'
#!/bin/bash
# Thin out the snapshots of a directory.
export LC_ALL=C TZ=UTC

usage() { echo "usage: rotate.sh [-n] [-k NUMBER] DIRECTORY [TODAY]" >&2; exit 2; }

keep=5 dry=
while getopts nk: option; do
    case $option in
        n) dry=yes ;;
        k) keep=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] && [ $# -le 2 ] || usage
dir=$1 today=${2-$(date +%F)}
[[ $keep =~ ^[0-9]+$ ]] || usage
keep=$((10#$keep))
[[ $today =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] && date -d "$today" > /dev/null 2>&1 || usage
[ -d "$dir" ] || usage
today=${today//-/}

# "date TAB host TAB file" of each snapshot, newest first within its host
list() {
    local path file stamp
    for path in "${dir%/}"/*; do
        file=${path##*/}
        [[ $file =~ ^(.+)-([0-9]{8})\.tar$ ]] || continue
        [ -f "$path" ] && [ ! -L "$path" ] || continue
        stamp=${BASH_REMATCH[2]}
        date -d "${stamp:0:4}-${stamp:4:2}-${stamp:6:2}" > /dev/null 2>&1 || continue
        printf '%s\t%s\n' "$stamp" "$file"
    done | sort -r
}

shopt -s dotglob nullglob
declare -A newest before oldest
declare -a names
while IFS=$'\t' read -r stamp file; do
    host=${file%-*}
    names+=("$file")
    oldest[$host/${stamp:0:6}]=$file
done < <(list)

for file in "${names[@]}"; do
    host=${file%-*} stamp=${file##*-} stamp=${stamp%.tar}
    kept=
    [ -z "${newest[$host/]}" ] && kept=yes
    newest[$host/]=$file
    if [ "$stamp" -ge "$today" ]; then
        kept=yes
    else
        before[$host/]=$((${before[$host/]:-0} + 1))
        [ "${before[$host/]}" -le "$keep" ] && kept=yes
    fi
    [ "${oldest[$host/${stamp:0:6}]}" = "$file" ] && kept=yes
    [ "$kept" ] && continue
    [ "$dry" ] || rm -f -- "${dir%/}/$file"
    printf '%s\n' "$file"
done | sort
exit 0
SCRIPT
chmod 755 /opt/rotate/rotate.sh
