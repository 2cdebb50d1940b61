#!/bin/bash
# Works on a copy with a configuration of our own, so that no setting or hook of the repaired repository takes part.
log() { printf '%s\n' "$*"; }
finish() { mkdir -p /logs/verifier; echo "$1" > /logs/verifier/reward.txt; exit 0; }

repo=/srv/mirror/book.git
copy=$(mktemp -d)/copy.git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
unset GIT_DIR

[ -d $repo ] && [ ! -e $repo/.git ] || { log "no bare repository at $repo"; finish 0; }
[ ! -L $repo ] && cp -R $repo "$copy" || finish 0
rm -rf "$copy/hooks"
[ "$(git config --file $repo/config --bool core.bare)" = true ] || { log "not bare any more"; finish 0; }
printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n' > "$copy/config"
for file in objects/info/alternates shallow info/grafts; do
    [ ! -s "$copy/$file" ] || { log "$file is there"; finish 0; }
done

cd / || finish 0
found=$(git --git-dir="$copy" fsck --full --no-progress 2>&1); code=$?
log "$found"
[ $code = 0 ] || finish 0
if grep -Ev '^(dangling|notice:)' <<< "$found" | grep -q .; then finish 0; fi

expected='67be3f27bb14e6bccffe62c5eb417e636dad820f commit refs/heads/draft
c5bbed2c09f5f5ffa1e8978611c6e2108a82d58f commit refs/heads/errata
01756c2825baae2a1a4ea5e02ca6ac1ec0e272de commit refs/heads/trunk
dba205093bf2d4d4f8d65a0d1bf709df950a42f3 commit refs/tags/v1.0
a681108775f037f03202c92be71e1afe4acd8777 tag refs/tags/v1.1'
refs=$(git --git-dir="$copy" for-each-ref 2>&1 | tr '\t' ' ' | LC_ALL=C sort -k3)
[ "$refs" = "$expected" ] || { log "references: $refs"; finish 0; }
[ "$(git --git-dir="$copy" symbolic-ref HEAD)" = refs/heads/trunk ] || { log "HEAD"; finish 0; }

# and everything can really be read
count=$(git --git-dir="$copy" rev-list --objects --all | cut -d' ' -f1 | git --git-dir="$copy" cat-file --batch-check | grep -vc missing)
[ "$count" = 39 ] || { log "$count objects"; finish 0; }
finish 1
