import csv, datetime, json

EBCDIC = {}
for first, chars in ((0xC1, "ABCDEFGHI"), (0xD1, "JKLMNOPQR"), (0xE2, "STUVWXYZ"), (0xF0, "0123456789")):
    EBCDIC.update((first + i, c) for i, c in enumerate(chars))
EBCDIC.update({0x40: " ", 0x7D: "'", 0x6B: ",", 0x60: "-"})
rows, sums = [], {}
raw = open("/tests/LEDGER.DAT", "rb").read()
assert len(raw) % 31 == 0
for at in range(0, len(raw), 31):
    rec = raw[at:at + 31]
    text = "".join(EBCDIC[c] for c in rec[:21])
    nibbles = [n for c in rec[21:29] for n in (c >> 4, c & 15)]
    year = nibbles[0] * 10 + nibbles[1]
    year += 1900 if year >= 69 else 2000
    date = datetime.datetime.strptime(f"{year} {nibbles[2]}{nibbles[3]}{nibbles[4]}", "%Y %j").date()
    cents = int("".join(map(str, nibbles[6:15]))) * (-1 if nibbles[15] == 13 else 1)
    branch = rec[29] * 256 + rec[30]
    if text[0] in "AB":
        rows.append((text[0], text[1:7], text[7:].rstrip(), date.isoformat(), cents, str(branch)))
        sums[str(branch)] = sums.get(str(branch), 0) + cents


def dec(cents):
    q, r = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{q}.{r:02d}"


want = [("kind", "account", "name", "date", "amount", "branch")] + [(*r[:4], dec(r[4]), r[5]) for r in rows]
with open("/app/out/ledger.csv", newline="", encoding="utf-8") as f:
    got = [tuple(r) for r in csv.reader(f) if r]
for n, (g, w) in enumerate(zip(got, want)):
    assert g == w, f"row {n}: {g} should be {w}"
assert len(got) == len(want), f"{len(got)} rows instead of {len(want)}"
with open("/app/out/totals.json") as f:
    assert json.load(f) == {b: dec(c) for b, c in sums.items()}, "totals"
print("VERDICT pass")
