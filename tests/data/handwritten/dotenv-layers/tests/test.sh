#!/bin/bash
got=/home/user/service/effective.env
if cmp "$got" - <<'END'
CHAIN=${NAME}
COLOUR=
DB_HOST=test-db.orders.eu-south.internal
DB_PORT=6432
DB_URL=postgres://app@db.orders.eu-south.internal:6432/orders
DB_USER=tester
DOLLAR=$
EMPTY=
FALLBACK=was empty
FEATURES=
HOST=orders.eu-south.internal
LEVEL=debug
MAYBE=none
MESSAGE=it's $5 & more # !
NAME=orders
PATHS=/opt/orders/bin:/usr/bin
QUOTED=literal ${NAME} # not a comment
REGION=eu-south
TIER_NAME=staging-orders
WHERE=eu-south
END
then reward=1; else diff "$got" /dev/null | head -n 30; reward=0; fi
mkdir -p /logs/verifier && echo "{\"reward\": $reward}" > /logs/verifier/reward.json
