#!/bin/bash
export LC_ALL=C
cd /opt/vendor || exit 1
rm -rf merged conflicts.txt
: > /tmp/conflicts

keep() { mkdir -p "merged/$(dirname "$2")"; cp "$1/$2" "merged/$2"; }
same() { if [ -e "$1" ] && [ -e "$2" ]; then cmp -s "$1" "$2"; else [ ! -e "$1" ] && [ ! -e "$2" ]; fi; }

for tree in base ours theirs; do (cd $tree && find . -type f); done | sed 's|^\./||' | sort -u > /tmp/paths
while IFS= read -r p; do
    b=base/$p o=ours/$p t=theirs/$p
    if same "$o" "$t"; then
        [ -e "$o" ] && keep ours "$p"
    elif same "$o" "$b"; then
        [ -e "$t" ] && keep theirs "$p"
    elif same "$t" "$b"; then
        [ -e "$o" ] && keep ours "$p"
    elif [ ! -e "$b" ]; then
        keep ours "$p"
        echo "add/add $p" >> /tmp/conflicts
    elif [ ! -e "$o" ] || [ ! -e "$t" ]; then
        [ -e "$o" ] && keep ours "$p" || keep theirs "$p"
        echo "delete/change $p" >> /tmp/conflicts
    else
        case $p in conf/*) side=--ours ;; *) side=--theirs ;; esac
        mkdir -p "merged/$(dirname "$p")"
        git merge-file -p -q "$o" "$b" "$t" > /dev/null || echo "overlap $p" >> /tmp/conflicts
        git merge-file -p -q $side "$o" "$b" "$t" > "merged/$p"
    fi
done < /tmp/paths
sort -t' ' -k2 /tmp/conflicts > conflicts.txt
