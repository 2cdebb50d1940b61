#!/bin/bash
mkdir -p /logs/verifier
expected='FLAG_API=v2 beta
FLAG_CHECKOUT_COLOUR=green
FLAG_DARK_THEME=on
FLAG_EMPTY=off
FLAG_NEW_SEARCH=off
FLAG_PREFIX_TRAP=off'

if [ "$(cat /opt/flags/resolved.env)" = "$expected" ] && [ "$(cat /opt/flags/machine.txt)" = "staging/eu-west/37" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo "resolved.env or machine.txt is not as expected"
    echo 0 > /logs/verifier/reward.txt
fi
