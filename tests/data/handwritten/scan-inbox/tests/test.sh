#!/bin/bash
# The verifier has its own copy of the inbox, as a listing: checksum, length of the path, path.
export LC_ALL=C
echo 0 > /logs/verifier/reward.txt
cd /home/user/inbox || exit
found=$(find . -type f -printf '%P\n' | while IFS= read -r f; do echo "$(cksum < "$f" | tr ' ' ':') $f"; done | sort)
wanted=$(awk '
    { sum = $1; path = substr($0, length($1) + 2) }
    sum ~ /:0$/ { print sum, path; next }
    !(sum in best) || length(path) < length(best[sum]) || (length(path) == length(best[sum]) && path < best[sum]) { best[sum] = path }
    END { for (s in best) print s, best[s] }' /tests/before.txt | sort)
[ "$found" = "$wanted" ] || { echo "the wrong files are left"; diff <(echo "$wanted") <(echo "$found"); exit; }
[ -z "$(find . -mindepth 1 -type d -empty)" ] || { echo "empty directories are left"; exit; }
[ -z "$(find . -type l)" ] || { echo "links instead of files"; exit; }
log=$(awk '
    NR == FNR { sum = $1; keep[sum] = substr($0, length($1) + 2); next }
    $1 !~ /:0$/ && substr($0, length($1) + 2) != keep[$1] { print substr($0, length($1) + 2) "\t" keep[$1] }
' <(echo "$wanted") /tests/before.txt | sort)
[ "$(cat ../removed.tsv)" = "$log" ] || { echo "removed.tsv is wrong"; exit; }
echo 1 > /logs/verifier/reward.txt
