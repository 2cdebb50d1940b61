#!/bin/bash
# No bisection and no clone: every commit is judged, and every object is looked at.
git config --global --add safe.directory '*'
cd /tmp
export GIT_DIR=/srv/git/ledger.git
judge() {
    git cat-file -p "$1:tax.py" > /tmp/tax-$1.py
    python3 /tmp/tax-$1.py 0.50 1 2> /dev/null
}
for c in $(git rev-list main); do
    [ "$(judge $c)" = 0.00 ] || continue
    p=$(git rev-parse -q --verify $c^) || continue
    [ "$(judge $p)" = 0.01 ] && [ "$(git rev-list --parents -n 1 $c | wc -w)" = 2 ] && echo $c > /srv/answers/culprit.txt
done
git cat-file --batch-all-objects --batch-check | awk '$2=="commit"{print $1}' | while read c; do
    git cat-file commit $c | grep -q '^rates: final, checked' && git cat-file blob $c:rates/2019.csv > /srv/answers/2019.csv
done
git shortlog -s --no-merges main | sed 's/^ *//' | sort -k1,1nr -k2 > /srv/answers/people.tsv
rm -f /tmp/tax-*.py
