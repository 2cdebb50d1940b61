#!/bin/bash
# bash alone, minute sets as strings ",0,17,"
set -f
names() { local s=${1,,} i=$2 n; shift 2; for n in "$@"; do s=${s//$n/$i}; i=$((i + 1)); done; echo "$s"; }
expand() { # field low high
    local out=, item span step a b
    for item in ${1//,/ }; do
        step=1; span=$item
        case $item in */*) step=${item#*/}; span=${item%/*} ;; esac
        case $span in '*') a=$2; b=$3 ;; *-*) a=${span%-*}; b=${span#*-} ;; *) a=$span; b=$span ;; esac
        for ((; a <= b; a += step)); do out+="$a,"; done
    done
    echo "$out"
}
days=()
for d in 24 25 26 27 28 29; do days+=("2024-02-$d 2 $d $(((d - 24 + 6) % 7))"); done
for d in 1 2 3 4 5; do days+=("2024-03-0$d 3 $d $(((d + 4) % 7))"); done
for file in backup mail web; do
    n=0
    while IFS= read -r line || [ -n "$line" ]; do
        n=$((n + 1))
        [[ $line =~ ^[[:space:]]*(#.*)?$ || $line =~ ^[A-Za-z_]+= || $line == @reboot* ]] && continue
        line=${line/#@hourly/0 * * * *}; line=${line/#@daily/0 0 * * *}; line=${line/#@monthly/0 0 1 * *}
        read -r mi ho dom mo dow user command <<< "$line"
        MI=$(expand "$mi" 0 59); HO=$(expand "$ho" 0 23); DOM=$(expand "$dom" 1 31)
        MO=$(expand "$(names "$mo" 1 jan feb mar apr may jun jul aug sep oct nov dec)" 1 12)
        DOW=$(expand "$(names "$dow" 0 sun mon tue wed thu fri sat)" 0 7); [[ $DOW == *,7,* ]] && DOW+="0,"
        for day in "${days[@]}"; do
            read -r iso m d w <<< "$day"
            [[ $MO == *,$m,* ]] || continue
            a=no; b=no
            [[ $DOM == *,$d,* ]] && a=yes
            [[ $DOW == *,$w,* ]] && b=yes
            if [[ $dom != \** && $dow != \** ]]; then [[ $a$b == *yes* ]] || continue; else [[ $a$b == yesyes ]] || continue; fi
            for h in ${HO//,/ }; do for i in ${MI//,/ }; do
                printf '%s %02d:%02d\t%s\t%03d\t%s\t%s\n' "$iso" "$h" "$i" "$file" "$n" "$user" "$command"
            done; done
        done
    done < /opt/old-server/cron.d/$file
done | LC_ALL=C sort | cut -f1,2,4- > /opt/old-server/forecast.tsv
