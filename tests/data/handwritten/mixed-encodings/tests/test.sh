#!/bin/bash
export LC_ALL=C
points=0
out=/home/user/letters-utf8

# (a) every converted letter has the right bytes, and there are no others
cut -f1 /tests/INDEX.tsv > /tmp/want.paths
awk -F'\t' '{ print $3 "  " $1 }' /tests/INDEX.tsv > /tmp/want.sha
if (cd "$out" && sha256sum --quiet -c /tmp/want.sha) && diff /tmp/want.paths <(cd "$out" && find . -type f ! -path ./INDEX.tsv -printf '%P\n' | sort); then
    points=1
fi

# (b) the index, whether or not its last line ends with a newline
if ! diff <(echo "$(cat /tests/INDEX.tsv)") <(echo "$(cat "$out/INDEX.tsv")"); then
    points=0
fi

# (c) the originals
if ! (cd /home/user/letters && sha256sum --quiet -c /tests/originals.sha256); then
    points=0
fi

echo "$points" | tee /logs/verifier/reward.txt
