#!/bin/bash
mkdir -p /logs/verifier
cd /srv/site || { echo 0 > /logs/verifier/reward.txt; exit; }
listing() { find releases shared current previous -printf '%M %p %l\n' | sed 's/ $//' | LC_ALL=C sort -k2; }
ok=1
diff /tests/listing.txt <(listing) || ok=0
same() { [ "$(stat -c %d:%i "$1")" = "$(stat -c %d:%i "$2")" ]; }
same releases/1.2/pages/footer.txt releases/1.9/pages/footer.txt && same releases/1.9/pages/footer.txt releases/1.10/pages/footer.txt || ok=0
[ "$(find releases -type f -links +1 | wc -l)" = 3 ] || ok=0
for v in 1.2 1.9 1.10; do
    [ "$(cat releases/$v/pages/index.txt)" = "site $v" ] && [ "$(tail -n 1 releases/$v/bin/serve)" = "echo serving $v" ] &&
        [ "$(cat releases/$v/secret.env)" = "token=${v/./}" ] && [ "$(head -n 1 releases/$v/bin/serve)" = '#!/bin/sh' ] || ok=0
    [ -f incoming/site-$v/secret.env ] || ok=0
done
[ "$(cat releases/1.2/pages/footer.txt) $(cat releases/1.10/pages/news.txt)" = "common footer new in 1.10" ] || ok=0
echo $ok > /logs/verifier/reward.txt
