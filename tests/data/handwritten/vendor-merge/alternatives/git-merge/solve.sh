#!/bin/bash
# Commits the three trees to a scratch repository, lets git merge them, and resolves its conflict markers with awk.
export LC_ALL=C GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x
set -e
V=/opt/vendor
W=$(mktemp -d)
cd $W
git init -q -b base .
snap() { find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +; cp -r $V/$1/. .; git add -A; git commit -q -m $1; }
snap base
git checkout -q -b theirs; snap theirs
git checkout -q -b ours base; snap ours
git -c merge.conflictStyle=merge merge -q -X no-renames theirs -m m > /dev/null 2>&1 || true
git -c core.quotePath=false status --porcelain -z | tr '\0' '\n' | while IFS= read -r line; do
    p=${line:3}
    case $line in
        AA*) echo "add/add $p"; cp "$V/ours/$p" "$p" ;;
        UD*|DU*) echo "delete/change $p" ;;
        UU*) echo "overlap $p"
            case $p in conf/*) want=1 ;; *) want=2 ;; esac
            awk -v want=$want '/^<<<<<<< /{in_=1;next} /^=======$/&&in_{in_=2;next} /^>>>>>>> /&&in_{in_=0;next} !in_||in_==want' "$p" > .tmp
            cat .tmp > "$p"; rm .tmp ;;
    esac
done | sort -k2 > $V/conflicts.txt
mkdir $V/merged
tar -c --exclude=./.git . | tar -x -C $V/merged
