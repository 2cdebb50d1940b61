#!/bin/bash
cd /home/archivist/drop
export LC_ALL=C
{
    sed -nE 's/^([0-9A-Fa-f]{64}) \*(.*)$/\2\t\L\1/p; s/^SHA256 \((.*)\) = ([0-9A-Fa-f]{64})$/\1\t\L\2/p' MANIFEST | while IFS=$'\t' read -r name sum; do
        if [ ! -e "$name" ]; then s=missing
        elif [ "$(sha256sum < "$name")" = "$sum  -" ]; then s=ok
        else s=corrupt; fi
        printf '%s\t%s\n' "$name" $s
    done
    for f in *; do
        [ "$f" = MANIFEST ] || grep -qF -e "*$f" -e "($f)" MANIFEST || printf '%s\tunlisted\n' "$f"
    done
} | sort > ../status.tsv
