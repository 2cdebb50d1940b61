#!/bin/bash
set -eu
mkdir -p /opt/deploy/units
cd /opt/deploy/units
cat > vault-backup@.service <<'UNIT'
[Unit]
Description=Backup of the document vault (%i)
RequiresMountsFor=/mnt/backup
ConditionPathIsMountPoint=/mnt/backup

[Service]
Type=oneshot
User=vault
WorkingDirectory=/srv/vault
UMask=0027
Nice=10
TimeoutStartSec=2h
SuccessExitStatus=3
Environment=VAULT_REPO=/mnt/backup/vault VAULT_LEVEL=info
Environment="VAULT_TITLE=Vault backup, \"%i\" run"
ExecStart=/usr/bin/vaultctl backup --set %i --tag "cron job"
UNIT
timer() {
    cat > "vault-backup-$1.timer" <<UNIT
[Unit]
Description=Timer of the $1 vault backup

[Timer]
OnCalendar=$2
Persistent=true
RandomizedDelaySec=5min
Unit=vault-backup@$1.service

[Install]
WantedBy=timers.target
UNIT
}
timer nightly 'Mon..Fri *-*-* 02:30:00'
timer weekly 'Sat *-*-* 04:00:00'
