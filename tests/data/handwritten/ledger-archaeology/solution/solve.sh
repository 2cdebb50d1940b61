#!/bin/bash
set -euo pipefail
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
mkdir -p /srv/answers
work=$(mktemp -d)
git clone -q --no-hardlinks /srv/git/ledger.git "$work/ledger"
cd "$work/ledger"

cat > "$work/judge" <<'SCRIPT'
#!/bin/bash
result=$(python3 -B tax.py 0.50 1) || exit 125
[ "$result" = 0.01 ]
SCRIPT
chmod +x "$work/judge"
git bisect start main "$(git rev-list --max-parents=0 main)" > /dev/null
git bisect run "$work/judge" > /dev/null
git rev-parse refs/bisect/bad > /srv/answers/culprit.txt
git bisect reset > /dev/null 2>&1

export GIT_DIR=/srv/git/ledger.git
for commit in $(git fsck --unreachable --no-reflogs 2> /dev/null | awk '$2 == "commit" { print $3 }'); do
    if git log -1 --format=%s "$commit" | grep -q '^rates: final, checked'; then
        git show "$commit:rates/2019.csv" > /srv/answers/2019.csv
    fi
done
git log --no-merges --format=%aN --use-mailmap main | sort | uniq -c | awk '{ n = $1; sub(/^ *[0-9]+ /, ""); print n "\t" $0 }' |
    LC_ALL=C sort -t $'\t' -k1,1nr -k2,2 > /srv/answers/people.tsv
rm -rf "$work"
