#!/bin/bash
cat > /opt/csvsum/csvsum <<'SCRIPT'
#!/bin/bash
# csvsum - sums of one column of a CSV file, by the values of another (see README)
export LC_ALL=C
delim=,
by_number=0
while getopts :d:n opt; do
    case $opt in
        d) delim=$OPTARG ;;
        n) by_number=1 ;;
        *) echo "usage: csvsum [-d DELIM] [-n] KEY VALUE" >&2; exit 64 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || { echo "usage: csvsum [-d DELIM] [-n] KEY VALUE" >&2; exit 64; }

split() {
    local rest=$1$delim
    cells=()
    while [ -n "$rest" ]; do
        cells+=("${rest%%"$delim"*}")
        rest=${rest#*"$delim"}
    done
}

IFS= read -r header
split "${header%$'\r'}"
key_at= value_at=
for i in "${!cells[@]}"; do
    [ "${cells[i]}" = "$1" ] && key_at=$i
    [ "${cells[i]}" = "$2" ] && value_at=$i
done
if [ -z "$key_at" ] || [ -z "$value_at" ]; then
    echo "csvsum: no such column" >&2
    exit 65
fi

declare -A sum
while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    [ -n "$line" ] || continue
    split "$line"
    v=${cells[value_at]:-0}
    if ! [[ $v =~ ^([+-]?)([0-9]+)$ ]]; then
        echo "csvsum: not a whole number: $v" >&2
        exit 65
    fi
    k=x${cells[key_at]}
    sum[$k]=$((${sum[$k]:-0} ${BASH_REMATCH[1]:-+} 10#${BASH_REMATCH[2]}))
done

[ ${#sum[@]} -gt 0 ] || exit 0
tab=$'\t'
for k in "${!sum[@]}"; do
    printf '%s\t%s\n' "${sum[$k]}" "${k#x}"
done | if [ $by_number = 1 ]; then sort -t "$tab" -k1,1nr -k2; else sort -t "$tab" -k2; fi |
while IFS= read -r line; do
    printf '%s%s%s\n' "${line#*"$tab"}" "$delim" "${line%%"$tab"*}"
done
SCRIPT
chmod 755 /opt/csvsum/csvsum
