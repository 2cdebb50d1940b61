#!/bin/bash
mkdir -p /app/out
python3 - <<'PY'
import csv, datetime, json, struct
from decimal import Decimal

def unpack(b):
    h = b.hex()
    n = int(h[:-1])
    return -n if h[-1] == "d" else n

def money(cents):
    return f"{Decimal(cents).scaleb(-2):.2f}" if cents else "0.00"

data = open("/app/in/LEDGER.DAT", "rb").read()
totals = {}
with open("/app/out/ledger.csv", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow("kind account name date amount branch".split())
    for kind, account, name, date, amount, branch in struct.iter_unpack(">1s6s14s3s5sH", data):
        kind = kind.decode("cp037")
        if kind not in "AB":
            continue
        yy, ddd = divmod(unpack(date), 1000)
        day = datetime.date(yy + (1900 if yy > 68 else 2000), 1, 1) + datetime.timedelta(days=ddd - 1)
        cents = unpack(amount)
        totals[branch] = totals.get(branch, 0) + cents
        w.writerow([kind, account.decode("cp037"), name.decode("cp037").rstrip(), day, money(cents), branch])
with open("/app/out/totals.json", "w") as f:
    json.dump({str(b): money(c) for b, c in totals.items()}, f)
PY
