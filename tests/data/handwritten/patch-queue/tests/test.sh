#!/bin/bash
reward=1
fail() { echo "$*"; reward=0; }
cd /srv/queue/tree && sha256sum --quiet -c /tests/SUMS || fail "contents"
cd /srv/queue/tree && [ "$(find . -type f -printf '%P\n' | LC_ALL=C sort)" = "$(cut -c67- /tests/SUMS)" ] || fail "files"
cmp /tests/rejected /srv/queue/rejected.txt || fail "rejected.txt"
echo $reward > /logs/verifier/reward.txt
