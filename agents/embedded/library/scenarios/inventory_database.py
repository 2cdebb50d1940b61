"""A SQLite stock database: joins, voided rows, two notations of time in one column."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, listed, measured, remark, skewed, summed, visits
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import iso, number

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_WAREHOUSES = ("WH-A", "WH-B", "WH-C", "WH-D", "WH-E", "WH-F", "WH-K", "WH-N", "WH-S", "WH-X")
_SUPPLIERS = ("Arvid", "Bolt and Sons", "Cantor", "Dufour", "Eisner", "Fabri")
_TITLES = (
    "bracket",
    "gasket",
    "valve",
    "sensor",
    "filter",
    "coupling",
    "relay",
    "bearing",
    "cable",
    "fuse",
    "panel",
    "pump",
)
_NOTES = (
    "for {code}",
    "booked by {name}",
    "recount asked by {mail}",
    "",
    "",
    "{code} replaces {code}",
    "scanner {ip}",
    "mail to {mail}, {code}",
)
_SCHEMA = """
CREATE TABLE supplier (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE item (sku TEXT PRIMARY KEY, title TEXT NOT NULL, supplier_id INTEGER NOT NULL REFERENCES supplier (id));
CREATE TABLE move (id TEXT PRIMARY KEY, warehouse TEXT NOT NULL, sku TEXT NOT NULL REFERENCES item (sku), kind TEXT NOT NULL,
  units INTEGER NOT NULL, booked_at, note TEXT, voids TEXT REFERENCES move (id));
CREATE INDEX move_by_sku ON move (sku);
"""

_READER = r"""
python3 - "$S/stock.db" "$LOT" "$W/records.tsv" <<'PY'
import sqlite3, sys
from pathlib import Path
database, lot, out = sys.argv[1:]
query = '''
  SELECT move.id, move.sku, kind, supplier.name, units,
         CASE typeof(booked_at) WHEN 'integer' THEN booked_at ELSE CAST(strftime('%s', booked_at) AS INTEGER) END, coalesce(note, '')
  FROM move JOIN item USING (sku) JOIN supplier ON supplier.id = supplier_id
  WHERE warehouse = ? AND voids IS NULL AND move.id NOT IN (SELECT voids FROM move WHERE voids IS NOT NULL)
  ORDER BY move.id'''
rows = sqlite3.connect(Path(database).as_uri() + "?immutable=1", uri=True).execute(query, (lot,))
with open(out, "w", encoding="utf-8") as lines:
    lines.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
"""


class InventoryDatabase:
    """σ: the stock moves of a few warehouses in one database."""

    name: ClassVar[str] = "inventory-database"
    rarity: ClassVar[int] = 2
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="stock move",
        records="moves",
        lot="warehouse",
        lots="warehouses",
        task="inventory",
        heading="The warehouses' stock database",
        heading_in_text="the warehouses' stock database",
        errand="the yearly count is near and the books have to be explained before it",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "text", "story", "spending"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five warehouses with some sixty moves each, some of them voided."""
        lots = tuple(sorted(rng.sample(_WAREHOUSES, 5)))
        items = {
            f"{rng.choice('KLMPR')}{number}": rng.randint(1, len(_SUPPLIERS))
            for number in sorted(rng.sample(range(100, 999), 22))
        }
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        files: dict[str, bytes] = {}
        booked: list[tuple[object, ...]] = []
        for place, lot in enumerate(lots):
            moves = _moves(rng, lot, 10_000 + 1000 * place, items, organisation)
            booked += [entry for entry, _ in moves]
            rows[RECORDS][lot] = tuple(row for _, row in moves if row is not None)
            strangers = [f"Z{rng.randint(100, 999)}" for _ in range(2)]
            rows[SECOND][lot] = measured(rng, summed(rows[RECORDS][lot], "entity"), strangers)
            rows[BASELINE][lot] = listed(
                rng, (row["entity"] for row in rows[RECORDS][lot]), strangers, rng.randint(3, 5)
            )
            files[f"scans/{lot}.csv"] = _scans(rows[SECOND][lot])
            files[f"shelf-labels/{lot}.txt"] = _labels(rng, rows[BASELINE][lot])
        files["stock.db"] = _database(rng.sample(booked, len(booked)), items, rng)
        layout = (
            "The stock database is the SQLite file `{root}/stock.db` with the tables `move` (one row per stock move; "
            "`warehouse` is the warehouse's code), `item` and `supplier`. `booked_at` is UTC, an integer number of "
            "seconds since the epoch or a text like `2024-02-29 17:05:09`."
        )
        return Material(lots, files, layout, _tables(rows))


def _moves(
    rng: random.Random, lot: str, first: int, items: Mapping[str, int], organisation: Organisation
) -> list[tuple[tuple[object, ...], Row | None]]:
    """Rows of `move` with the record that each stands for; a voided move and the one that voids it stand for none."""
    names = people(rng, 5)
    stocked = rng.sample(sorted(items), 15)
    start = epoch(2024, 2, 5)
    moves: list[tuple[tuple[object, ...], Row | None]] = []
    for place, (moment, sku) in enumerate(visits(rng, stocked, start, start + 9 * 86_400, rng.randint(48, 60))):
        row: Row = {
            "key": f"M{first + 2 * place}",
            "entity": sku,
            "category": rng.choice(("in", "in", "out", "out", "out", "scrap", "adjust")),
            "group": _SUPPLIERS[items[sku] - 1],
            "quantity": skewed(rng, 1, 400),
            "time": moment,
            "text": remark(rng, rng.choice(_NOTES), names, organisation.domain, ["10.5.0.2", "10.5.0.3"]),
        }
        entry = (
            row["key"],
            lot,
            sku,
            row["category"],
            row["quantity"],
            _booked(rng, moment),
            row["text"] or None,
            None,
        )
        voided = rng.random() < 0.1
        moves.append((entry, None if voided else row))
        if voided:
            moves.append(
                (
                    (
                        f"M{first + 2 * place + 1}",
                        lot,
                        sku,
                        "adjust",
                        row["quantity"],
                        _booked(rng, moment + 60),
                        "void",
                        row["key"],
                    ),
                    None,
                )
            )
    return moves


def _booked(rng: random.Random, moment: int) -> object:
    return moment if rng.random() < 0.5 else iso(moment).replace("T", " ").rstrip("Z")


def _database(booked: Iterable[tuple[object, ...]], items: Mapping[str, int], rng: random.Random) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(_SCHEMA)
    connection.executemany("INSERT INTO supplier VALUES (?, ?)", enumerate(_SUPPLIERS, 1))
    connection.executemany(
        "INSERT INTO item VALUES (?, ?, ?)",
        [(sku, rng.choice(_TITLES), supplier) for sku, supplier in sorted(items.items())],
    )
    connection.executemany("INSERT INTO move VALUES (?, ?, ?, ?, ?, ?, ?, ?)", booked)
    connection.commit()
    image = bytearray(connection.serialize())
    connection.close()
    # Bytes 96 to 99 of the header say which SQLite wrote the file; a fixed version keeps the task the same everywhere.
    image[96:100] = (3_040_001).to_bytes(4, "big")
    return bytes(image)


def _scans(rows: tuple[Row, ...]) -> bytes:
    lines = ["sku,units,device"]
    lines += [f"{row['key']},{number(row['quantity'])},hh{place % 4}" for place, row in enumerate(rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _labels(rng: random.Random, rows: tuple[Row, ...]) -> bytes:
    lines = [f"{rng.choice('ABC')}{rng.randint(1, 30):02d}: {row['key']}" for row in rng.sample(rows, len(rows))]
    return "".join(f"{line}\n" for line in lines).encode()


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    sku = Column("key", "sku", "SKU")
    return {
        RECORDS: Table(
            RECORDS,
            (
                Column("key", "move", "move id"),
                Column("entity", "sku", "SKU"),
                Column("category", "kind", "kind"),
                Column("group", "supplier", "supplier"),
                Column("quantity", "units", "number of units", "units"),
                Column("time", "booked_at", "booking time"),
                Column("text", "note", "note"),
            ),
            rows[RECORDS],
            "A move can be voided by a later one that names it in `voids`; neither of the two counts. `item` gives "
            "the supplier of a SKU; a missing note is an empty one.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (sku, Column("quantity", "scanned", "scanned units", "units")),
            rows[SECOND],
            "The handheld scanners have a count of what went through their hands, `{root}/scans/<code>.csv` "
            "(`sku,units,device`, one or more lines per SKU).",
            'tail -n +2 "$S/scans/$LOT.csv" | awk -F, \'{ print $1 "\\t" $2 }\' > "$W/second.tsv"',
            join="entity",
        ),
        BASELINE: Table(
            BASELINE,
            (sku,),
            rows[BASELINE],
            "`{root}/shelf-labels/<code>.txt` lists the shelf labels of a warehouse as `shelf: SKU`.",
            'sed \'s/.*: //\' "$S/shelf-labels/$LOT.txt" | sort -u > "$W/baseline.tsv"',
            join="entity",
        ),
    }
