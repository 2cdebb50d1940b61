#!/bin/bash
# Checks properties of the order (there are many right ones) and the two other files exactly.
exec 2>&1
export LC_ALL=C
lab=/home/user/lab
ok=yes
complain() { echo "$*"; ok=no; }

diff - $lab/dropped.txt <<'END' || complain "dropped.txt is wrong"
audit after web
auth after audit
vpn after vpn
END
diff - $lab/blocked.txt <<'END' || complain "blocked.txt is wrong"
alerts missing
billing cycle
dashboard blocked
etl cycle
invoices cycle
ledger cycle
metrics missing
nightly missing
probe cycle
report blocked
warehouse cycle
END

names='assets audit auth backup cache cron db firmware mail network queue storage vpn web'
[ "$(sort $lab/order.txt | tr '\n' ' ')" = "$names " ] || complain "order.txt does not hold the startable services, each once"
[ -s $lab/order.txt ] && [ -z "$(tail -c 1 $lab/order.txt)" ] || complain "order.txt does not end with a newline"

# earlier:later
for pair in db:auth cache:auth auth:web assets:web storage:assets storage:db network:db network:cache firmware:network \
        storage:audit queue:mail auth:mail db:queue mail:cron storage:backup db:backup cron:backup network:vpn; do
    first=$(grep -nx "${pair%:*}" $lab/order.txt | cut -d: -f1)
    second=$(grep -nx "${pair#*:}" $lab/order.txt | cut -d: -f1)
    [ "${first:-9}" -lt "${second:-0}" ] || complain "${pair#*:} is started before ${pair%:*}"
done

mkdir -p /logs/verifier
if [ $ok = yes ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
