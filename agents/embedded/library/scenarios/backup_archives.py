"""Nightly backup sets packed into one archive per machine: tarballs, zip files and base64 text inside a tarball."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import latest, listed, measured, remark, summed
from agents.embedded.library.framework import (
    BASELINE,
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
from agents.embedded.library.packing import Member, gzipped, tarred, zipped
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_MACHINES = ("ada", "bell", "curie", "darwin", "euler", "fermi", "gauss", "hopper", "kepler", "noether")
_FOLDERS = ("etc", "home", "srv", "var")
_STEMS = ("hosts", "ledger", "menu", "notes", "plan", "rates", "roster", "stock", "tariff", "todo", "zones")
_ENDINGS = ("conf", "csv", "log", "txt")
_FIRST_LINES = (
    "# {code}",
    "owner: {mail}",
    "see {code} and {code}",
    "mirror of {ip}",
    "sent by {mail} from {ip}",
    "draft",
)

_READER = r"""
mkdir -p "$W/outer" "$W/latest"
tar -xzf "$S/backups/$LOT.tar.gz" -C "$W/outer"
: > "$W/all"
for set in "$W"/outer/set-*; do
  number=$(basename "$set" | tr -cd '0-9' | cut -c1-2); number=${number#0}
  mkdir "$W/set"
  case $set in
    *.tgz) tar -xzf "$set" -C "$W/set" ;;
    *.zip) python3 -m zipfile -e "$set" "$W/set" ;;
    *.tar.b64) base64 -d "$set" | tar -xf - -C "$W/set" ;;
  esac
  ( cd "$W/set" && find . -type f -printf '%P\t%s\n' | sort ) | while IFS="$(printf '\t')" read -r path size; do
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$path" "$number" "${path%%/*}" "${path##*.}" "$size" "$(head -n 1 "$W/set/$path")"
  done >> "$W/all"
  cp -r "$W/set/." "$W/latest/"
  rm -r "$W/set"
done
cut -f1-5 "$W/all" > "$W/versions.tsv"
sort -t "$(printf '\t')" -k1,1 -k2,2nr "$W/all" | awk -F'\t' '!seen[$1]++ { print $1 "\t" $3 "\t" $4 "\t" $2 "\t" $5 "\t" $6 }' > "$W/records.tsv"
( cd "$W/latest" && find . -type f -printf '%P\n' | sort | xargs sha256sum > "$W/actual" )
awk 'NR == FNR { a[$2] = $1; n[$2]; next } { l[$2] = $1; n[$2] }
     END { for (f in n) print f "\t" ((f in l) ? l[f] : "-") "\t" ((f in a) ? a[f] : "-") }' "$W/actual" "$W/outer/MANIFEST" |
  sort > "$W/manifest.tsv"
"""


class BackupArchives:
    """σ: the backups of a few machines, full and incremental sets nested in one archive."""

    name: ClassVar[str] = "backup-archives"
    rarity: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="file",
        records="files",
        lot="machine",
        lots="machines",
        task="backup",
        heading="Backups of the machines",
        heading_in_text="the backups of the machines",
        errand="a restore has gone wrong and the backups are under suspicion",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "text"}),
        VERSIONS: frozenset({"key", "revision", "entity", "category", "quantity"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
        MANIFEST: frozenset({"key", "listed", "actual"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five machines with one full and three or four incremental sets each."""
        lots = tuple(sorted(rng.sample(_MACHINES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            copies, contents = _copies(rng, organisation)
            kept = latest(copies)
            rows[VERSIONS][lot], rows[RECORDS][lot] = tuple(copies), kept
            manifest, rows[MANIFEST][lot] = _manifest(rng, {str(row["key"]): contents[_id(row)] for row in kept})
            files[f"backups/{lot}.tar.gz"] = _archive(rng, copies, contents, manifest)
            strangers = [f"srv/{rng.choice(_STEMS)}-lost.txt", f"home/{rng.choice(_STEMS)}-new.csv"]
            rows[SECOND][lot] = measured(rng, summed(kept, "key"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["key"] for row in kept), strangers, rng.randint(3, 6))
            catalogue = "".join(f"{row['quantity']} {row['key']}\n" for row in rows[SECOND][lot])
            retained = "".join(f"/{row['key']}\n" for row in rng.sample(rows[BASELINE][lot], len(rows[BASELINE][lot])))
            files |= {f"catalogue/{lot}.txt": catalogue.encode(), f"retention/{lot}.txt": retained.encode()}
        layout = (
            "A machine's backup is `{root}/backups/<code>.tar.gz`. In it are a `MANIFEST` and numbered sets, `set-01` "
            "the full one and the others incremental: some are gzipped tarballs (`.tgz`), some zip files (`.zip`), "
            "some tarballs in base64 (`.tar.b64`). Paths in the sets are relative to the machine's root, "
            "`home/plan-3.txt` for `/home/plan-3.txt`. A path's first part is its area, what follows its last dot its "
            "type; its headline is its first line."
        )
        return Material(lots, files, layout, _tables(rows))


def _id(row: Row) -> tuple[str, int]:
    return str(row["key"]), number(row["revision"])


def _copies(rng: random.Random, organisation: Organisation) -> tuple[list[Row], dict[tuple[str, int], bytes]]:
    """Every copy of every file in the order of the sets and paths, and the bytes of each."""
    staff = people(rng, 5)
    paths = [
        f"{rng.choice(_FOLDERS)}/{rng.choice(_STEMS)}-{place}.{rng.choice(_ENDINGS)}"
        for place in range(rng.randint(30, 36))
    ]
    rows: list[Row] = []
    contents: dict[tuple[str, int], bytes] = {}
    for revision in range(1, rng.randint(4, 5) + 1):
        chosen = rng.sample(paths, rng.randint(6, 10)) if revision > 1 else paths[: len(paths) - 6]
        for path in sorted(chosen):
            headline = remark(
                rng, rng.choice(_FIRST_LINES), staff, organisation.domain, ["10.1.1.9", "10.6.0.3", "10.6.2.2"]
            )
            content = f"{headline}\n{'.' * rng.randint(0, 900)}{rng.getrandbits(32):08x}\n".encode()
            folder, ending = path.split("/")[0], path.rsplit(".", 1)[1]
            rows.append({
                "key": path, "revision": revision, "entity": folder, "category": ending, "group": revision,
                "quantity": len(content), "text": headline,
            })  # fmt: skip
            contents[path, revision] = content
    return rows, contents


def _manifest(rng: random.Random, kept: Mapping[str, bytes]) -> tuple[bytes, tuple[Row, ...]]:
    """The sums of the newest copies, some of them out of date."""
    actual = {path: hashlib.sha256(content).hexdigest() for path, content in kept.items()}
    shuffled = rng.sample(sorted(actual), len(actual))
    listed_sums = {path: digest for path, digest in actual.items() if path not in shuffled[:3]}
    for path in [*shuffled[3 : 3 + rng.randint(2, 4)], "srv/menu-gone.csv", f"etc/zones-{rng.randint(50, 99)}.conf"]:
        listed_sums[path] = hashlib.sha256(rng.randbytes(16)).hexdigest()
    order = rng.sample(sorted(listed_sums), len(listed_sums))
    names = sorted({*actual, *listed_sums})
    rows = tuple({"key": name, "listed": listed_sums.get(name, "-"), "actual": actual.get(name, "-")} for name in names)
    return "".join(f"{listed_sums[name]}  {name}\n" for name in order).encode(), rows


def _archive(
    rng: random.Random, copies: list[Row], contents: Mapping[tuple[str, int], bytes], manifest: bytes
) -> bytes:
    members = [Member("MANIFEST", manifest, 1_715_000_000)]
    for revision in sorted({number(row["revision"]) for row in copies}):
        inner = [
            Member(str(r["key"]), contents[_id(r)], 1_714_000_000 + revision * 86_400)
            for r in copies
            if r["revision"] == revision
        ]
        kind = rng.choice(("tgz", "zip", "tar.b64")) if revision > 1 else "tgz"
        members.append(Member(f"set-{revision:02d}.{kind}", _packed(inner, kind), 1_714_000_000 + revision * 86_400))
    return gzipped(tarred(rng.sample(members, len(members))))


def _packed(inner: list[Member], kind: str) -> bytes:
    if kind == "zip":
        return zipped(inner)
    return gzipped(tarred(inner)) if kind == "tgz" else base64.encodebytes(tarred(inner))


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    path, size = Column("key", "path", "path"), Column("quantity", "bytes", "size", "bytes")
    area, kind = Column("entity", "area", "area"), Column("category", "type", "type")
    return {
        RECORDS: Table(
            RECORDS,
            (path, area, kind, Column("group", "set", "set number"), size, Column("text", "headline", "headline")),
            rows[RECORDS],
            "A file can be in several sets; only its copy from the set with the highest number counts. The set number "
            "is written without leading zeros.",
            _READER,
        ),
        VERSIONS: Table(
            VERSIONS,
            (path, Column("revision", "set", "set number"), area, kind, size),
            rows[VERSIONS],
            "A file can be in several sets, so there are several copies of some paths, each a row of its own.",
            _READER,
        ),
        MANIFEST: Table(
            MANIFEST,
            (
                Column("key", "path", "path"),
                Column("listed", "listed", "listed sum"),
                Column("actual", "actual", "actual sum"),
            ),
            rows[MANIFEST],
            "`MANIFEST` has the format that `sha256sum` writes and is meant for the restored tree: where a path is in "
            "several sets, the copy from the set with the highest number is the file. `MANIFEST` itself is not part "
            "of the tree.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (path, Column("quantity", "catalogued", "catalogued sizes", "bytes")),
            rows[SECOND],
            "The backup server's catalogue `{root}/catalogue/<code>.txt` has lines of a size and a path; files that "
            "it stored in chunks have a line for each.",
            'awk \'{ print $2 "\\t" $1 }\' "$S/catalogue/$LOT.txt" > "$W/second.tsv"',
        ),
        BASELINE: Table(
            BASELINE,
            (path,),
            rows[BASELINE],
            "`{root}/retention/<code>.txt` lists what has to be kept, as absolute paths of the machine "
            "(`/home/plan-3.txt`); results give paths as in the sets.",
            'sed \'s|^/||\' "$S/retention/$LOT.txt" | sort -u > "$W/baseline.tsv"',
        ),
    }
