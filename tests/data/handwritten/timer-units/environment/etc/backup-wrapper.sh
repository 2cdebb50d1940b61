#!/bin/sh
# Runs restic-like backups of the document vault.
cd /srv/vault || exit 1
umask 027
export VAULT_REPO=/mnt/backup/vault VAULT_LEVEL=info
export VAULT_TITLE="Vault backup, \"$1\" run"
mountpoint -q /mnt/backup || exit 75
nice -n 10 timeout 7200 /usr/bin/vaultctl backup --set "$1" --tag 'cron job'
# exit status 3 means "nothing to do"
code=$?
[ $code = 3 ] && exit 0
exit $code
