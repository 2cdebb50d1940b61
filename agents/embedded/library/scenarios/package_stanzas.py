"""dpkg status files: continuation lines, removed packages, version bounds and alternatives in dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import entangled, listed, measured, remark, skewed, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.packing import gzipped
from agents.embedded.library.story import people

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_IMAGES = ("kiosk", "scanner", "signage", "till", "gateway", "ticketing", "backoffice", "tablet")
_FIRST = ("lib", "python3-", "", "golang-", "node-", "fonts-")
_STEMS = (
    "arc",
    "bolt",
    "cairn",
    "dune",
    "ember",
    "fjord",
    "glade",
    "heron",
    "iris",
    "jade",
    "knot",
    "loom",
    "moss",
    "nova",
    "opal",
    "pike",
)
_LAST = ("", "-data", "-common", "1", "-utils")
_SYNOPSES = (
    "renderer for {code} forms",
    "client of {ip}",
    "kept for {mail}",
    "small tool, see {code}",
    "fonts of the till",
    "bindings ({num} functions)",
)

_READER = r"""
gzip -dc "$S/status/$LOT.gz" | awk '
  function flush(   i, n, part, name, refs, kept) {
    if (state ~ / installed$/ && pkg != "") {
      n = split(depends, part, /, */); refs = ""
      for (i = 1; i <= n; i++) { name = part[i]; sub(/ *\|.*/, "", name); sub(/ *\(.*/, "", name); sub(/:any$/, "", name)
        if (name != "") print name | "sort > \"" work "/refs\"" }
      close("sort > \"" work "/refs\"")
      while (n > 0 && (getline name < (work "/refs")) > 0) refs = refs (refs == "" ? "" : " ") name
      close(work "/refs")
      print pkg "\t" (source == "" ? pkg : source) "\t" section "\t" priority "\t" size "\t" refs "\t" synopsis
    }
    pkg = source = section = priority = size = depends = synopsis = state = field = ""
  }
  /^$/ { flush(); next }
  /^[ \t]/ { if (field == "Depends") { sub(/^[ \t]+/, ""); depends = depends " " $0 } next }
  {
    field = $0; sub(/:.*/, "", field); value = $0; sub(/^[^:]*: */, "", value)
    if (field == "Package") pkg = value
    else if (field == "Status") state = value
    else if (field == "Section") section = value
    else if (field == "Priority") priority = value
    else if (field == "Installed-Size") size = value
    else if (field == "Depends") depends = value
    else if (field == "Description") synopsis = value
    else if (field == "Source") { source = value; sub(/ *\(.*/, "", source) }
  }
  END { flush() }' work="$W" | sort -t "$(printf '\t')" -k1,1 > "$W/records.tsv"
"""


class PackageStanzas:
    """σ: what is installed on an organisation's device images."""

    name: ClassVar[str] = "package-stanzas"
    rarity: ClassVar[int] = 2
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="package",
        records="packages",
        lot="device image",
        lots="device images",
        task="package-status",
        heading="Package status of the device images",
        heading_in_text="the package status of the device images",
        errand="the images have outgrown their flash and something has to go",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "ref", "text"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five images with some fifty installed packages each."""
        lots = tuple(sorted(rng.sample(_IMAGES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            packages = _packages(rng, organisation)
            rows[RECORDS][lot] = tuple(sorted(packages, key=lambda row: str(row["key"])))
            files[f"status/{lot}.gz"] = gzipped(_status(rng, packages, organisation))
            strangers = [f"lib{stem}-legacy" for stem in rng.sample(_STEMS, 3)]
            rows[SECOND][lot] = measured(rng, summed(packages, "key"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["key"] for row in packages), strangers, rng.randint(4, 7))
            disk = "".join(f"{row['quantity']:>8} K  {row['key']}\n" for row in rows[SECOND][lot])
            approved = "".join(
                f"{row['key']} ok\n" for row in rng.sample(rows[BASELINE][lot], len(rows[BASELINE][lot]))
            )
            files |= {f"disk-usage/{lot}.txt": disk.encode(), f"approved/{lot}.list": approved.encode()}
        layout = (
            "The package status of an image is `{root}/status/<code>.gz`, a gzipped dpkg status file: stanzas "
            "separated by an empty line, `Field: value`, lines that begin with a blank continue the field before. "
            "Only packages whose `Status` ends in ` installed` are there; others were removed. The source is `Source` "
            "without what is in brackets, or the package's own name where the field is missing. Of `Depends` (commas "
            "between the parts) the first alternative of each part counts, without version and without `:any`. The "
            "synopsis is the first line of `Description`; `Installed-Size` is in KiB."
        )
        return Material(lots, files, layout, _tables(rows))


def _packages(rng: random.Random, organisation: Organisation) -> list[Row]:
    every = [f"{first}{stem}{last}" for first in _FIRST for stem in _STEMS for last in _LAST]
    names, staff = rng.sample(every, rng.randint(46, 56)), people(rng, 4)
    rows: list[Row] = []
    for place, name in enumerate(names):
        refs = set(rng.sample(names[:place], min(place, rng.choice((0, 1, 1, 2, 3)))))
        if rng.random() < 0.08:  # of a package that is not there
            refs.add(f"virtual-{rng.choice(_STEMS)}")
        source = name if rng.random() < 0.5 else rng.choice(_STEMS[:6])
        rows.append({
            "key": name,
            "entity": source,
            "category": rng.choice(("libs", "libs", "python", "utils", "fonts", "net")),
            "group": rng.choice(("required", "standard", "optional", "optional", "extra")),
            "quantity": skewed(rng, 20, 60_000),
            "ref": " ".join(sorted(refs)),
            "text": remark(rng, rng.choice(_SYNOPSES), staff, organisation.domain, ["10.7.7.7", "10.7.0.12"]),
        })  # fmt: skip
    return entangled(rng, rows)


def _status(rng: random.Random, packages: list[Row], organisation: Organisation) -> bytes:
    stanzas = [_stanza(rng, row, "install ok installed", organisation) for row in packages]
    for row in rng.sample(packages, 5):
        gone = {**row, "key": f"{row['key']}-old"}
        stanzas.append(_stanza(rng, gone, "deinstall ok config-files", organisation))
    return "\n".join(rng.sample(stanzas, len(stanzas))).encode()


def _stanza(rng: random.Random, row: Row, status: str, organisation: Organisation) -> str:
    lines = [f"Package: {row['key']}", f"Status: {status}", f"Priority: {row['group']}", f"Section: {row['category']}"]
    lines += [
        f"Installed-Size: {row['quantity']}",
        f"Maintainer: Images <images@{organisation.domain}>",
        "Architecture: amd64",
    ]
    if row["entity"] != row["key"]:
        lines.append(f"Source: {row['entity']}{rng.choice(('', ' (1.2-3)'))}")
    version = f"{rng.randint(0, 9)}.{rng.randint(0, 30)}"
    lines.append(f"Version: {version}")
    parts = [ref + rng.choice(("", f" (>= {version})", f" | {ref}-compat", ":any")) for ref in str(row["ref"]).split()]
    if parts:
        rng.shuffle(parts)
        lines.append(f"Depends: {', '.join(parts)}" if rng.random() < 0.6 else "Depends: " + ",\n ".join(parts))
    lines += [
        f"Description: {row['text']}",
        f" Built for the {rng.choice(('till', 'kiosk', 'gate'))}.",
        " .",
        " Depends: on nothing else.",
    ]
    return "".join(f"{line}\n" for line in lines)


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    package = Column("key", "package", "package name")
    return {
        RECORDS: Table(
            RECORDS,
            (
                package,
                Column("entity", "source", "source"),
                Column("category", "section", "section"),
                Column("group", "priority", "priority"),
                Column("quantity", "size_kib", "installed size", "KiB"),
                Column("ref", "depends", "`Depends`"),
                Column("text", "synopsis", "synopsis"),
            ),
            rows[RECORDS],
            "",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (package, Column("quantity", "on_disk_kib", "disk usage", "KiB")),
            rows[SECOND],
            "`{root}/disk-usage/<code>.txt` was measured on a device: lines like `    1204 K  libarc1`, one per "
            "partition that a package has files on.",
            'awk \'{ print $3 "\\t" $1 }\' "$S/disk-usage/$LOT.txt" > "$W/second.tsv"',
        ),
        BASELINE: Table(
            BASELINE,
            (package,),
            rows[BASELINE],
            "`{root}/approved/<code>.list` names the packages that were approved for an image (`NAME ok`).",
            'cut -d\' \' -f1 "$S/approved/$LOT.list" | sort -u > "$W/baseline.tsv"',
        ),
    }
