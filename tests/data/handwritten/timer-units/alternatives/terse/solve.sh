#!/bin/bash
# The same units as another person would write them.
python3 - <<'PY'
import os
os.makedirs("/opt/deploy/units", exist_ok=True)
os.chdir("/opt/deploy/units")
open("vault-backup@.service", "w").write("""\
# converted from cron
[Service]
ExecStart = /usr/bin/vaultctl backup --set "%i" --tag 'cron job'
Environment='VAULT_TITLE=Vault backup, "%i" run' "VAULT_LEVEL=info"
Environment="VAULT_REPO=/mnt/backup/vault"
UMask=027
User=vault
Type = oneshot
SuccessExitStatus=3
TimeoutStartSec=7200
Nice=10
WorkingDirectory=/srv/vault
[Unit]
; both, as asked for
ConditionPathIsMountPoint=/mnt/backup
RequiresMountsFor=/mnt/backup
Description=vault: %i
""")
for name, when in ("nightly", "Mon,Tue,Wed,Thu,Fri *-*-* 02:30:00"), ("weekly", "Sat *-*-* 04:00:00"):
    open(f"vault-backup-{name}.timer", "w").write(
        f"[Install]\nWantedBy=timers.target\n[Timer]\nUnit=vault-backup@{name}.service\nOnCalendar={when}\n"
        f"Persistent=yes\nRandomizedDelaySec=300\n[Unit]\nDescription={name} run\n")
PY
