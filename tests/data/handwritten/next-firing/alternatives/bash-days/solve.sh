#!/bin/bash
# Plain bash with its own calendar.
cat > /home/user/bin/nextfire <<'SCRIPT'
#!/bin/bash
bad() { echo "nextfire: $1" >&2; exit 2; }
count=3
if [ "$1" = -c ]; then count=$2; shift 2 || bad count; fi
[ $# -eq 2 ] || bad arguments
[[ $count =~ ^0*[1-9][0-9]*$ ]] || bad count
[[ $2 =~ ^(20[0-9][0-9])-([0-9][0-9])-([0-9][0-9])T([0-9][0-9]):([0-9][0-9])$ ]] || bad start
count=$((10#$count))
y=$((10#${BASH_REMATCH[1]})) m=$((10#${BASH_REMATCH[2]})) d=$((10#${BASH_REMATCH[3]}))
h=$((10#${BASH_REMATCH[4]})) mi=$((10#${BASH_REMATCH[5]}))
length() { case $2 in 4|6|9|11) echo 30 ;; 2) echo $(( $1 % 4 ? 28 : 29 )) ;; *) echo 31 ;; esac }
(( m >= 1 && m <= 12 && d >= 1 && d <= $(length $y $m) && h <= 23 && mi <= 59 )) || bad start

set -f
f=($1)
[ ${#f[@]} -eq 5 ] || bad expression
names=("" "" "" "jan feb mar apr may jun jul aug sep oct nov dec" "sun mon tue wed thu fri sat")
low=(0 0 1 1 0) high=(59 23 31 12 7)
number() {
    local w=${1,,} i=${low[$2]} n
    for n in ${names[$2]}; do [ "$n" = "$w" ] && { value=$i; return; }; i=$((i + 1)); done
    [[ $w =~ ^[0-9]+$ ]] || bad "$1"
    value=$((10#$w))
    (( value >= low[$2] && value <= high[$2] )) || bad "$1"
}
declare -A in
for k in 0 1 2 3 4; do
    case ,${f[k]}, in *,,*) bad "${f[k]}" ;; esac
    IFS=, read -ra elements <<< "${f[k]}"
    for e in "${elements[@]}"; do
        step=1 span=$e
        if [[ $e == */* ]]; then
            step=${e#*/} span=${e%%/*}
            [[ $step =~ ^[0-9]+$ ]] && step=$((10#$step)) && [ $step -ge 1 ] || bad "$e"
        fi
        if [ "$span" = '*' ]; then a=${low[k]} b=${high[k]}; [ $k = 4 ] && b=6
        elif [[ $span == *-* ]]; then number "${span%%-*}" $k; a=$value; number "${span#*-}" $k; b=$value; (( a <= b )) || bad "$e"
        else [[ $e == */* ]] && bad "$e"; number "$span" $k; a=$value b=$value; fi
        for ((v = a; v <= b; v += step)); do [ $k = 4 ] && in[4,$((v % 7))]=1 || in[$k,$v]=1; done
    done
done
either=; [[ ${f[2]} != '*'* && ${f[4]} != '*'* ]] && either=1
# 2000-01-01 was a Saturday
w=6
for ((i = 2000; i < y; i++)); do w=$(( (w + (i % 4 ? 365 : 366)) % 7 )); done
for ((i = 1; i < m; i++)); do w=$(( (w + $(length $y $i)) % 7 )); done
w=$(( (w + d - 1) % 7 ))
first=$((h * 60 + mi + 1))
while (( y < 2100 )); do
    n=$(length $y $m)
    if [ -z "${in[3,$m]}" ]; then
        w=$(( (w + n - d + 1) % 7 )) d=$((n + 1)) first=0
    fi
    for (( ; d <= n; d++, w = (w + 1) % 7, first = 0)); do
        x=${in[2,$d]} z=${in[4,$w]}
        if [ $either ]; then [ "$x$z" ] || continue; else [ "$x" ] && [ "$z" ] || continue; fi
        for ((hh = first / 60; hh < 24; hh++)); do
            [ "${in[1,$hh]}" ] || continue
            for ((mm = 0; mm < 60; mm++)); do
                [ "${in[0,$mm]}" ] && (( hh * 60 + mm >= first )) || continue
                printf '%04d-%02d-%02dT%02d:%02d\n' $y $m $d $hh $mm
                (( --count )) || exit 0
            done
        done
    done
    d=1 first=0 m=$((m + 1))
    (( m > 12 )) && m=1 y=$((y + 1))
done
exit 0
SCRIPT
chmod +x /home/user/bin/nextfire
