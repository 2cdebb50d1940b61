#!/bin/bash
set -euo pipefail
export LC_ALL=C

resolve() {
    local line condition value fits
    while IFS= read -r line; do
        case $line in '#'* | '') continue ;; esac
        value=${line#*-> }
        fits=yes
        for condition in ${line%%->*}; do
            case $condition in
                'stage=*' | 'region=*') ;;
                stage=*) [ "${condition#*=}" = "$APP_STAGE" ] || fits=no ;;
                region=*) [ "${condition#*=}" = "$APP_REGION" ] || fits=no ;;
                percent=*) [ "$ROLLOUT_BUCKET" -lt "${condition#*=}" ] || fits=no ;;
            esac
        done
        if [ $fits = yes ]; then
            printf '%s\n' "$value"
            return
        fi
    done < "$1"
    echo off
}

set -f
find "$FLAG_ROOT/rules" -name '*.rule' | while IFS= read -r file; do
    name=$(basename "$file" .rule | tr 'a-z.-' 'A-Z__')
    printf 'FLAG_%s=%s\n' "$name" "$(resolve "$file")"
done | sort > "$FLAG_ROOT/resolved.env"
echo "$APP_STAGE/$APP_REGION/$ROLLOUT_BUCKET" > "$FLAG_ROOT/machine.txt"
