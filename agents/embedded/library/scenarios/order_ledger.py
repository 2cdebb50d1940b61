"""An order ledger in CSV parts with revisions, payments in another dialect, contacts in old encodings."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import (
    checksum_list,
    checksum_table,
    epoch,
    latest,
    listed,
    measured,
    remark,
    skewed,
    summed,
    visits,
)
from agents.embedded.library.framework import (
    BASELINE,
    ENCODED,
    MANIFEST,
    RECORDS,
    SECOND,
    VERSIONS,
    Column,
    Material,
    Row,
    Table,
    Words,
)
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_BRANCHES = (
    "north",
    "south",
    "harbour",
    "airport",
    "old-town",
    "west-gate",
    "riverside",
    "market",
    "hillside",
    "station",
)
_NAMES = ("Ärztehaus Süd", "Café Noël", "Müller & Söhne", "Zahnärzte Köln", "Bäckerei Groß", "Fløjl A/S", "Señor Piña", "Hôtel Étoile",
          "Smörgås AB", "Élan Coiffure", "Jürgen Weiß KG", "Crème Brûlée", "Gîte du Lac", "Façade Bau", "Påske ApS", "Garçon & Cie")  # fmt: skip
_NOTES = ("call {name} first, gate code {num}", "replaces {code}", '"fragile", ask for {name}', "send papers to {mail}\nand {mail}",
          "", "", "see {code}, {code}", "via {ip}; confirmed by {mail}", "rush")  # fmt: skip
_TILLS = ("10.8.0.4", "10.8.0.17", "192.168.7.3")
_FIELDS = ("order_no", "revision", "ordered_at", "customer", "channel", "status", "amount", "note")
_CODINGS = ("utf-8", "iso-8859-1", "utf-16", "cp850", "utf-8")

_READER = r"""
python3 - "$S/orders/$LOT" "$W" <<'PY'
import csv, glob, sys
from datetime import datetime, timezone
folder, work = sys.argv[1:]
rows = []
for path in sorted(glob.glob(folder + "/part-*.csv")):
    with open(path, encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            when, form = line["ordered_at"], "%Y-%m-%d %H:%M"
            if "/" in when:
                form = "%d/%m/%Y %H:%M"
            moment = int(datetime.strptime(when, form).replace(tzinfo=timezone.utc).timestamp())
            units, _, rest = line["amount"].replace(",", "").partition(".")
            cents = int(units) * 100 + int(rest.ljust(2, "0") or 0)
            note = line["note"].replace("\r\n", " ").replace("\n", " ")
            rows.append((line["order_no"], int(line["revision"]), line["customer"], line["status"], line["channel"], cents, moment, note))
latest = {}
for row in rows:
    if row[0] not in latest or row[1] >= latest[row[0]][1]:
        latest[row[0]] = row
with open(work + "/versions.tsv", "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, row[:6])) + "\n" for row in rows)
with open(work + "/records.tsv", "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, (key, *row[2:]))) + "\n" for key, row in sorted(latest.items()))
PY
"""
_PAYMENTS = r"""
tail -n +2 "$S/payments/$LOT.csv" | tr -d '\r' | awk -F';' '{
  key = $2; gsub(/[ "]/, "", key); amount = $3; gsub(/["€. ]/, "", amount); split(amount, part, ",")
  printf "%s\t%d\n", key, part[1] * 100 + part[2] }' > "$W/second.tsv"
"""
_CONTACTS = r"""
while read -r file coding; do
  printf '%s\t%s\t%s\n' "${file%.txt}" "$coding" "$(od -An -v -tx1 "$S/contacts/$LOT/$file" | tr -d ' \n')"
done < "$S/contacts/$LOT/INDEX" | sort > "$W/encoded.tsv"
"""


class OrderLedger:
    """σ: exports of an order system, one folder a branch."""

    name: ClassVar[str] = "order-ledger"
    rarity: ClassVar[int] = 1
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="order",
        records="orders",
        lot="branch",
        lots="branches",
        task="order-ledger",
        heading="The branches' order ledger",
        heading_in_text="the branches' order ledger",
        errand="the quarter is to be closed and the exports do not agree with the till",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "text", "spending", "story"}),
        VERSIONS: frozenset({"key", "revision", "entity", "category", "quantity"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
        MANIFEST: frozenset({"key", "listed", "actual"}),
        ENCODED: frozenset({"key", "coding", "raw", "plain"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five branches, six to eight parts each."""
        lots = tuple(sorted(rng.sample(_BRANCHES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            exported = _exported(rng, organisation)
            # A row of the reader cannot hold a line break; the rules say that one counts as a space.
            orders = latest({**row, "text": str(row["text"]).replace("\n", " ")} for row in exported)
            rows[VERSIONS][lot], rows[RECORDS][lot] = tuple(exported), orders
            parts = _parts(rng, exported)
            sums, rows[MANIFEST][lot] = checksum_list(rng, parts, [f"part-{len(parts) + 1:02d}.csv"])
            payments, rows[SECOND][lot] = _payments(rng, orders)
            watch, rows[BASELINE][lot] = _watch_list(rng, orders)
            contacts, rows[ENCODED][lot] = _contacts(rng, orders, organisation)
            files |= {f"orders/{lot}/{name}": content for name, content in parts.items()}
            files |= {f"contacts/{lot}/{name}": content for name, content in contacts.items()}
            files |= {f"orders/{lot}/SHA256SUMS": sums, f"payments/{lot}.csv": payments, f"watch-list/{lot}.txt": watch}
        layout = (
            "Each branch exports its orders to `{root}/orders/<code>/part-NN.csv` (comma-separated, RFC 4180 quoting, "
            "a header line that says in which order a part has the columns `order_no`, `revision`, `ordered_at`, "
            "`customer`, `channel`, `status`, `amount` and `note`). `ordered_at` is UTC, written `2024-02-29 17:05` "
            "or, by the old tills, `29/02/2024 17:05`. `amount` is in euros with up to two decimals and perhaps "
            "thousands commas; results are in whole cents. A line break inside a note counts as one space."
        )
        return Material(lots, files, layout, _tables(rows))


def _exported(rng: random.Random, organisation: Organisation) -> list[Row]:
    """Orders with their revisions, in the order in which the parts hold them."""
    customers = [f"C{code}" for code in rng.sample(range(100, 999), 14)]
    names = people(rng, 6)
    start, first = epoch(2024, 1, 8), rng.randint(2000, 7000)
    rows: list[Row] = []
    for place, (moment, customer) in enumerate(visits(rng, customers, start, start + 20 * 86400, rng.randint(38, 48))):
        base = rng.choice((1, 1, 1, 8, 9))
        amount = skewed(rng, 450, 240_000)
        rows += [
            {
                "key": f"N-{first + place * 3}",
                "revision": revision,
                "entity": customer,
                "category": rng.choice(("open", "paid", "paid", "shipped", "cancelled", "refunded")),
                "group": rng.choice(("web", "web", "phone", "counter")),
                "quantity": amount if rng.random() < 0.6 else skewed(rng, 450, 240_000),
                "time": moment // 60 * 60,
                "text": remark(rng, rng.choice(_NOTES), names, organisation.domain, _TILLS),
            }
            for revision in range(base, base + rng.choice((1, 1, 1, 2, 2, 3)))
        ]
        if rng.random() < 0.08:  # the same revision exported twice with another amount
            rows.append({**rows[-1], "quantity": skewed(rng, 450, 240_000)})
    keyed = [(rng.random(), row) for row in rows]
    return [row for _, row in sorted(keyed, key=lambda pair: pair[0])]


def _parts(rng: random.Random, exported: list[Row]) -> dict[str, bytes]:
    count = rng.randint(6, 8)
    cuts = [0, *sorted(rng.sample(range(5, len(exported) - 4), count - 1)), len(exported)]
    parts: dict[str, bytes] = {}
    for place, (first, last) in enumerate(pairwise(cuts), 1):
        fields = list(_FIELDS) if rng.random() < 0.5 else rng.sample(_FIELDS, len(_FIELDS))
        old_till = rng.random() < 0.3
        text = io.StringIO()
        writer = csv.DictWriter(text, fields, lineterminator=rng.choice(("\n", "\n", "\r\n")))
        writer.writeheader()
        for row in exported[first:last]:
            writer.writerow(_fields(rng, row, old_till))
        parts[f"part-{place:02d}.csv"] = text.getvalue().encode()
    return parts


def _fields(rng: random.Random, row: Row, old_till: bool) -> dict[str, object]:
    cents = number(row["quantity"])
    amount = f"{cents // 100:,}" if rng.random() < 0.5 else str(cents // 100)
    if cents % 100:
        amount += f".{cents % 100:02d}".rstrip("0")
    form = "%d/%m/%Y %H:%M" if old_till else "%Y-%m-%d %H:%M"
    when = datetime.fromtimestamp(number(row["time"]), UTC).strftime(form)
    values = (row["key"], row["revision"], when, row["entity"], row["group"], row["category"], amount, row["text"])
    return dict(zip(_FIELDS, values, strict=True))


def _payments(rng: random.Random, orders: tuple[Row, ...]) -> tuple[bytes, tuple[Row, ...]]:
    """Payments in instalments; some wrong, some missing, some for orders nobody knows."""
    rows = measured(rng, summed(orders, "key"), [f"N-{rng.randint(9000, 9999)}" for _ in range(3)])
    lines = ["date;order;amount"]
    for row in rows:
        cents = number(row["quantity"])
        euros = f"{cents // 100:,}".replace(",", ".") if rng.random() < 0.6 else str(cents // 100)
        lines.append(f"{rng.randint(1, 28):02d}.02.2024;{row['key']};{rng.choice(('', '€ '))}{euros},{cents % 100:02d}")
    return "".join(f"{line}\r\n" for line in lines).encode(), rows


def _watch_list(rng: random.Random, orders: tuple[Row, ...]) -> tuple[bytes, tuple[Row, ...]]:
    rows = listed(
        rng, (row["entity"] for row in orders), [f"C{rng.randint(100, 999)}" for _ in range(3)], rng.randint(3, 5)
    )
    names = [str(row["key"]) for row in rng.sample(rows, len(rows))]
    lines = [name.lower() if rng.random() < 0.3 else name for name in names]
    return ("\n".join(lines) + "\n").encode(), rows


def _contacts(
    rng: random.Random, orders: tuple[Row, ...], organisation: Organisation
) -> tuple[dict[str, bytes], tuple[Row, ...]]:
    buyers = sorted({str(row["entity"]) for row in orders})
    customers = rng.sample(buyers, min(9, len(buyers)))
    folder: dict[str, bytes] = {}
    rows: list[Row] = []
    for customer, name in zip(sorted(customers), rng.sample(_NAMES, len(customers)), strict=True):
        coding = rng.choice(_CODINGS)
        plain = f"{name}, Fürther Straße {rng.randint(1, 140)}, kontakt@{customer.lower()}.{organisation.domain}"
        # "utf-16" alone would follow the byte order of this machine.
        content = b"\xff\xfe" + plain.encode("utf-16-le") if coding == "utf-16" else plain.encode(coding)
        folder[f"{customer}.txt"] = content
        rows.append({"key": customer, "coding": coding, "raw": content.hex(), "plain": plain})
    order = rng.sample(rows, len(rows))
    folder["INDEX"] = "".join(f"{row['key']}.txt {row['coding']}\n" for row in order).encode()
    return folder, tuple(rows)


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    key, revision = Column("key", "order_no", "order number"), Column("revision", "revision", "revision")
    customer, status = Column("entity", "customer", "customer"), Column("category", "status", "status")
    cents = Column("quantity", "cents", "amount", "cents")
    rest = (
        Column("group", "channel", "channel"),
        cents,
        Column("time", "ordered_at", "order time"),
        Column("text", "note", "note"),
    )
    return {
        RECORDS: Table(
            RECORDS,
            (key, customer, status, *rest),
            rows[RECORDS],
            "An order that was changed is exported again with a higher `revision`, in any part. Only an order's "
            "highest revision counts; should that one come twice, the later line does, the parts taken in the order "
            "of their names.",
            _READER,
        ),
        VERSIONS: Table(
            VERSIONS,
            (key, revision, customer, status, Column("group", "channel", "channel"), cents),
            rows[VERSIONS],
            "An order that was changed is exported again with another `revision`, in any part, so the parts (taken in "
            "the order of their names) hold several rows for some orders.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (key, Column("quantity", "paid_cents", "payments", "cents")),
            rows[SECOND],
            "The bank's list of payments is `{root}/payments/<code>.csv`: semicolons, a header line, the order number "
            "in the second and the amount in the third field, with dots for thousands, a decimal comma and perhaps a "
            "euro sign. An order may be paid in several instalments.",
            _PAYMENTS,
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "customer", "customer"),),
            rows[BASELINE],
            "`{root}/watch-list/<code>.txt` names the customers under observation, one a line; some were typed in "
            "lower case, which makes no difference.",
            "tr 'a-z' 'A-Z' < \"$S/watch-list/$LOT.txt\" | sort -u > \"$W/baseline.tsv\"",
            join="entity",
        ),
        ENCODED: Table(
            ENCODED,
            (
                Column("key", "customer", "customer"),
                Column("coding", "coding", "encoding"),
                Column("raw", "raw", "bytes"),
            ),
            rows[ENCODED],
            "The contact cards are in `{root}/contacts/<code>/`, one text file per customer, named after it; `INDEX` "
            "there says in which encoding each file is (`utf-16` files begin with a byte-order mark, which is not "
            "part of the text).",
            _CONTACTS,
        ),
        MANIFEST: checksum_table(rows[MANIFEST], "orders/$LOT"),
    }
