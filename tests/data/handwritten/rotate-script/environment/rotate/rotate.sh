#!/bin/bash
# Thin out the snapshots of a directory.

keep=5
while getopts nk: option; do
    case $option in
        n) dry=yes ;;
        k) keep=$OPTARG
    esac
done
dir=$1
today=${2:-$(date +%F)}

cd $dir
for file in $(ls *.tar | sort -r); do
    stamp=${file##*-}
    stamp=${stamp%.tar}
    day=${stamp:0:4}-${stamp:4:2}-${stamp:6:2}
    age=$(( ($(date -d $today +%s) - $(date -d $day +%s)) / 86400 ))
    host=${file%%-*}

    [ $age -lt $keep ] && continue
    if [ "${day:8:2}" = 01 ]; then
        continue
    fi
    echo "$file"
    [ "$dry" ] || rm $file
done
