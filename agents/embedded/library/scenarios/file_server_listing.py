"""Recursive listings of file shares: folder headings, blanks in names, zones, and nothing else to go by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, listed, measured, remark, skewed, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_SHARES = ("accounts", "archive", "design", "exchange", "legal", "plant", "projects", "scans", "training")
_FOLDERS = ("2022", "2023", "drafts", "final", "in", "out", "old stuff", "shared with partners")
_NAMES = ("offer {code}.pdf", "{code} signed by {mail}.pdf", "minutes {num}.odt", "mail {mail} on {code}.eml", "scan-{num}.tif",
          "dump {ip}.gz", "list.csv", "plan {num} ({code}).dwg")  # fmt: skip
_MOVED = 1_712_016_000  # 2 April 2024, when the share was moved
_MODES = (
    ("-rw-r--r--", "everybody"),
    ("-rw-rw-r--", "everybody"),
    ("-rw-r-----", "group"),
    ("-rw-rw----", "group"),
    ("-rw-------", "owner"),
)

_READER = r"""
awk '
  /:$/ && /^\./ { folder = substr($0, 1, length($0) - 1); sub(/^\.\/?/, "", folder); next }
  /^-/ {
    reach = substr($1, 8, 1) == "r" ? "everybody" : substr($1, 5, 1) == "r" ? "group" : "owner"
    stamp = $6 " " $7 " " $8; name = $0
    for (i = 1; i <= 8; i++) sub(/^[^ ]+ +/, "", name)
    path = folder == "" ? name : folder "/" name
    print path "\t" $3 "\t" reach "\t" $4 "\t" $5 "\t" stamp
  }' "$S/listings/$LOT.txt" | sort -t "$(printf '\t')" -k1,1 > "$W/listing"
paste <(cut -f1-5 "$W/listing") <(cut -f6 "$W/listing" | date -u -f - +%s) > "$W/records.tsv"
"""


class FileServerListing:
    """σ: `ls -lR` of a file server's shares."""

    name: ClassVar[str] = "file-server-listing"
    rarity: ClassVar[int] = 2
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="file",
        records="files",
        lot="share",
        lots="shares",
        task="file-share",
        heading="Listings of the file shares",
        heading_in_text="the listings of the file shares",
        errand="the file server is full and half of it may be read by everybody",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "spending"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five shares with some sixty files each."""
        lots = tuple(sorted(rng.sample(_SHARES, 5)))
        owners = people(rng, 9)
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            found = _files(rng, owners, organisation)
            rows[RECORDS][lot] = tuple(sorted(found, key=lambda row: str(row["key"])))
            files[f"listings/{lot}.txt"] = _listing(rng, found)
            strangers = [name for name in people(rng, 3) if name not in owners]
            rows[SECOND][lot] = measured(rng, summed(found, "entity"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["entity"] for row in found), strangers, rng.randint(2, 3))
            quota = "".join(f"{row['key']:<16} {row['quantity']:>12,}\n" for row in rows[SECOND][lot])
            members = ", ".join(str(row["key"]) for row in rng.sample(rows[BASELINE][lot], len(rows[BASELINE][lot])))
            files |= {
                f"quota/{lot}.txt": f"# user, bytes\n{quota}".encode(),
                f"members/{lot}.txt": f"members: {members}\n".encode(),
            }
        layout = (
            "The only thing left of a share is its recursive listing `{root}/listings/<code>.txt` (`ls -lR "
            "--time-style=full-iso`): headings such as `./drafts:`, `total` lines, and a line for each entry. Names "
            "may contain blanks. A path is given from the share's root without `./` in front (`drafts/list.csv`). A "
            "file's reach is `everybody` when others may read it, else `group` when its group may, else `owner`. "
            "Times have an offset; fractions of a second are cut off."
        )
        return Material(lots, files, layout, _tables(rows))


def _files(rng: random.Random, owners: list[str], organisation: Organisation) -> list[Row]:
    folders = ["", *rng.sample(_FOLDERS, 5)]
    folders += [f"{rng.choice(folders[1:])}/{rng.choice(('a', 'b', 'to sort'))}" for _ in range(2)]
    present = rng.sample(owners, rng.randint(7, 9))
    rows: dict[str, Row] = {}
    for _ in range(rng.randint(56, 68)):
        folder = rng.choice(folders)
        name = remark(rng, rng.choice(_NAMES), owners, organisation.domain, ["10.1.0.5", "10.1.0.8", "10.77.1.1"])
        path = f"{folder}/{name}" if folder else name
        mode, reach = rng.choice(_MODES)
        rows[path] = {
            "key": path,
            "entity": rng.choice(present),
            "category": reach,
            "group": rng.choice(("staff", "partners", "interns")),
            "quantity": skewed(rng, 200, 9_000_000),
            "time": epoch(2024, 4, 1) + rng.randrange(30 * 86_400),
            "name": name,
            "mode": mode,
            "folder": folder,
        }
    return list(rows.values())


def _listing(rng: random.Random, found: list[Row]) -> bytes:
    """Folders as headings; folders and links among the entries are there to be passed over."""
    folders = sorted({str(row["folder"]) for row in found} | {""})
    zone = timezone(timedelta(hours=rng.choice((-4, 1, 2, 8))))
    lines: list[str] = []
    for folder in folders:
        lines += [f"./{folder}:" if folder else ".:", f"total {rng.randint(20, 900)}"]
        inside = sorted((row for row in found if row["folder"] == folder), key=lambda row: str(row["name"]))
        lines += [_entry(row, zone) for row in inside]
        for other in folders:
            if other and other.rpartition("/")[0] == folder:
                lines.append(_other("drwxrwx---", other.rpartition("/")[2]))
        if rng.random() < 0.4:
            lines.append(_other("lrwxrwxrwx", "latest -> list.csv"))
        lines.append("")
    return "".join(f"{line}\n" for line in lines).encode()


def _entry(row: Row, zone: timezone) -> str:
    moment = number(row["time"])
    at = datetime.fromtimestamp(moment, zone)
    stamp = f"{at:%Y-%m-%d %H:%M:%S}.{moment % 997:03d}000000 {at:%z}"
    return f"{row['mode']} 1 {row['entity']:<12} {row['group']:<8} {row['quantity']:>9} {stamp} {row['name']}"


def _other(mode: str, name: str) -> str:
    """The line of a folder or a link."""
    row: Row = {"mode": mode, "entity": "root", "group": "staff", "quantity": 4096, "time": _MOVED, "name": name}
    return _entry(row, UTC)


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    owner = Column("key", "owner", "owner")
    return {
        RECORDS: Table(
            RECORDS,
            (
                Column("key", "path", "path"),
                Column("entity", "owner", "owner"),
                Column("category", "reach", "reach"),
                Column("group", "group", "group"),
                Column("quantity", "bytes", "size", "bytes"),
                Column("time", "modified", "modification time"),
            ),
            rows[RECORDS],
            "Only plain files count, no folders and no links.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (owner, Column("quantity", "charged", "charged bytes", "bytes")),
            rows[SECOND],
            "The quota system charges by user in `{root}/quota/<code>.txt` (user, bytes with thousands commas; a "
            "comment on top); users with several quotas have several lines.",
            'awk \'!/^#/ { gsub(/,/, "", $2); print $1 "\\t" $2 }\' "$S/quota/$LOT.txt" > "$W/second.tsv"',
            join="entity",
        ),
        BASELINE: Table(
            BASELINE,
            (owner,),
            rows[BASELINE],
            "`{root}/members/<code>.txt` names the members of a share behind `members:`, separated by commas.",
            "sed 's/^members: //' \"$S/members/$LOT.txt\" | tr -d ' ' | tr ',' '\\n' | sort -u > \"$W/baseline.tsv\"",
            join="entity",
        ),
    }
