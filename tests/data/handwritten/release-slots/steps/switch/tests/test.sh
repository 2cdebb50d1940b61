#!/bin/bash
# 0.25 for each of four checks.
exec > >(tee /logs/verifier/output.log) 2>&1
n=0
cd /srv/site
diff /tests/listing.txt <(find releases shared current previous -printf '%M %p %l\n' | sed 's/ $//' | LC_ALL=C sort -k2) && n=$((n + 25))
i() { stat -c %i releases/1.10/$1 releases/1.10.1/$1 | uniq | wc -l; }
[ "$(i bin/serve) $(i pages/footer.txt) $(i pages/index.txt) $(find releases -type f -links +1 | wc -l)" = "1 1 2 4" ] && n=$((n + 25))
printf 'current 1.10.1\nprevious 1.10\n' | cmp - VERSIONS && [ "$(stat -c '%a %F' VERSIONS)" = "444 regular file" ] && n=$((n + 25))
contents=$(cd releases && cat 1.10/bin/serve 1.10/pages/{footer,index,news}.txt 1.10/secret.env 1.10.1/bin/serve 1.10.1/pages/{NEWS,footer,index}.txt 1.10.1/secret.env | cksum)
[ "$contents" = "1206521313 151" ] && n=$((n + 25))
printf '%d.%02d\n' $((n / 100)) $((n % 100)) > /logs/verifier/reward.txt
