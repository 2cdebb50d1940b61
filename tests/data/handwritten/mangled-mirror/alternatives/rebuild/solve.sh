#!/bin/bash
# A new repository from the bundle, with every good loose object of the old one copied over; then packed and put in place.
set -e
cd /srv/mirror
tag=
git init -q --bare /tmp/new.git
git --git-dir=/tmp/new.git fetch -q /srv/mirror/book-backup.bundle '+refs/*:refs/keep/*'
python3 - <<'PY'
import hashlib, pathlib, zlib
for f in pathlib.Path("/srv/mirror/book.git/objects").glob("??/*"):
    try:
        raw = zlib.decompress(f.read_bytes())
    except zlib.error:
        continue
    if hashlib.sha1(raw).hexdigest() == f.parent.name + f.name:
        t = pathlib.Path("/tmp/new.git/objects", f.parent.name)
        t.mkdir(exist_ok=True)
        if not (t / f.name).exists():
            (t / f.name).write_bytes(f.read_bytes())
        if raw.startswith(b"tag ") and b"\ntag v1.1\n" in raw:
            open("/tmp/tag", "w").write(f.parent.name + f.name)
PY
old=book.git
export GIT_DIR=/tmp/new.git
for r in $(git for-each-ref --format='%(refname)' refs/keep); do git update-ref -d $r; done
git branch -q draft $(awk '/heads.draft/{print $1}' $old/packed-refs)
git tag v1.0 $(awk '/v1.0/{print $1}' $old/packed-refs)
git update-ref refs/tags/v1.1 $(cat /tmp/tag)
git branch -q trunk $(awk 'END{print $2}' $old/logs/refs/heads/trunk)
git branch -q errata $(awk 'END{print $2}' $old/logs/refs/heads/errata)
git symbolic-ref HEAD refs/heads/trunk
git gc -q --prune=now
unset GIT_DIR
rm -rf book.git
cp -r /tmp/new.git book.git
