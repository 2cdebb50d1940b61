"""DNS master files: origins, relative names, inherited owners, TTL units, parentheses and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import listed, measured, network, remark, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_ZONES = ("corp", "shop", "labs", "ops", "media", "parts", "travel", "field")
_HOSTS = ("www", "mail", "ns1", "ns2", "ftp", "vpn", "git", "wiki", "ci", "db1", "db2", "mx", "api", "cdn", "img", "auth", "ldap", "ntp",
          "proxy", "chat", "voip", "backup", "print", "cam", "door", "stage", "test", "dev", "beta", "old", "status", "help")  # fmt: skip
_TEXTS = (
    "v=spf1 ip4:{ip} -all",
    "contact {mail}",
    "site-check={code}",
    "{code} moved to {ip}",
    "owner={mail} ticket={code}",
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_TTLS = (300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800)

_READER = r"""
python3 - "$S/zones/$LOT.zone" "$W/records.tsv" <<'PY'
import re, sys
units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
def seconds(text):
    return int(text) if text.isdigit() else sum(int(n) * units[u.lower()] for n, u in re.findall(r"(\d+)([smhdwSMHDW])", text))
def entries(text):
    words, depth, fresh = [], 0, True
    for token in re.findall(r'"[^"]*"|;[^\n]*|[()\n]|[ \t]+|[^\s()";]+', text):
        if token[0] == ";":
            continue
        if token == "\n":
            if depth == 0:
                if words:
                    yield words
                words, fresh = [], True
            continue
        if fresh:
            words, fresh = ([""] if token.isspace() else []), False
        if token in "()":
            depth += 1 if token == "(" else -1
        elif not token.isspace():
            words.append(token)
    if words:
        yield words
origin, ttl, owner, rows = "", 0, "", []
def absolute(name):
    return origin if name == "@" else name if name.endswith(".") else f"{name}.{origin}"
for words in entries(open(sys.argv[1], encoding="utf-8").read()):
    if words == [""]:
        continue
    if words[0] == "$ORIGIN":
        origin = words[1]
        continue
    if words[0] == "$TTL":
        ttl = seconds(words[1])
        continue
    if words[0]:
        owner = absolute(words[0])
    rest, own = words[1:], None
    while rest[0] == "IN" or re.fullmatch(r"\d[\dsmhdwSMHDW]*", rest[0]):
        own = own if rest[0] == "IN" else seconds(rest[0])
        rest = rest[1:]
    kind, data = rest[0], rest[1:]
    if kind == "SOA":
        continue
    ref = absolute(data[-1]) if kind in ("CNAME", "MX", "NS") else ""
    value = ref or "".join(part.strip('"') for part in data)
    rows.append((owner, value, kind, origin, ttl if own is None else own, ref, value))
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, row)) + "\n" for row in sorted(rows))
PY
"""


class DnsZones:
    """σ: the master files of an organisation's zones."""

    name: ClassVar[str] = "dns-zones"
    rarity: ClassVar[int] = 4
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="resource record",
        records="records",
        lot="zone",
        lots="zones",
        task="dns-zone",
        heading="DNS zones",
        heading_in_text="the DNS zones",
        errand="the name service moves to a new provider and must not take its mistakes along",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "ref", "text"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five zones with some forty names each."""
        lots = tuple(sorted(rng.sample(_ZONES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            apex = f"{lot}.{organisation.domain}."
            parts = _parts(rng, apex, organisation)
            records = [row for part in parts for row in part]
            rows[RECORDS][lot] = tuple(sorted(records, key=lambda row: str(row["key"])))
            files[f"zones/{lot}.zone"] = _master_file(rng, apex, parts)
            strangers = [f"{host}.gone.{apex}" for host in rng.sample(_HOSTS, 3)]
            rows[SECOND][lot] = measured(rng, summed(records, "key"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["key"] for row in records), strangers, rng.randint(3, 6))
            seen = "".join(f"{row['key']};{row['quantity']}\n" for row in rows[SECOND][lot])
            watched = "".join(
                f"{str(row['key']).rstrip('.').upper() if rng.random() < 0.3 else row['key']}\n"
                for row in rows[BASELINE][lot]
            )
            files |= {f"resolver/{lot}.csv": seen.encode(), f"monitored/{lot}.txt": watched.encode()}
        layout = (
            "A zone's master file is `{root}/zones/<code>.zone` (RFC 1035): `$ORIGIN` completes names without a final "
            "dot, `@` is the origin itself, a line that begins with a blank belongs to the owner before it, `$TTL` "
            "holds until the next one for records without a TTL of their own, parentheses span lines, `;` begins a "
            "comment. TTL and `IN` come in either order or not at all; TTLs are in seconds or with units (`1h30m`). "
            "Names are fully qualified in results, with the final dot."
        )
        return Material(lots, files, layout, _tables(rows))


def _parts(rng: random.Random, apex: str, organisation: Organisation) -> list[list[Row]]:
    """The records by origin: the apex and two sub-domains; every owner has one record."""
    staff = people(rng, 4)
    origins = [apex, *(f"{name}.{apex}" for name in rng.sample(("eu", "us", "int", "dmz"), 2))]
    owners = [(f"{host}.{origin}", origin) for origin in origins for host in rng.sample(_HOSTS, rng.randint(12, 16))]
    addresses = [network(rng) for _ in range(9)]
    rows: dict[str, list[Row]] = {origin: [] for origin in origins}
    for place, (owner, origin) in enumerate(owners):
        middle = len(owners) // 2 <= place <= len(owners) // 2 + 1
        kind = (
            "A"
            if place == 0
            else "CNAME"
            if middle
            else rng.choice(("A", "A", "A", "CNAME", "CNAME", "TXT", "TXT", "MX"))
        )
        ref = ""
        if kind in ("CNAME", "MX"):
            # Aliases of what comes before, but for a pair of names in the middle that point at each other.
            ref = owners[place + 1][0] if place == len(owners) // 2 else rng.choice(owners[:place])[0]
            ref = owners[place - 1][0] if middle and place > len(owners) // 2 else ref
            ref = ref if middle or rng.random() < 0.93 else rng.choice((f"gone.{apex}", f"lb.{organisation.domain}."))
        value = ref or (
            rng.choice(addresses)
            if kind == "A"
            else remark(rng, rng.choice(_TEXTS), staff, organisation.domain, addresses)
        )
        # Only a text value may hold blanks, and the file writes it in pieces; a value stands for itself here.
        rows[origin].append({
            "key": owner, "entity": value, "category": kind, "group": origin, "quantity": rng.choice(_TTLS), "ref": ref, "text": value,
        })  # fmt: skip
    return list(rows.values())


def _master_file(rng: random.Random, apex: str, parts: list[list[Row]]) -> bytes:
    lines = [f"; zone {apex}", "$TTL 1h", f"$ORIGIN {apex}", "@ IN SOA ns1 hostmaster (", f"    {rng.randint(2_024_010_100, 2_024_051_499)} ; serial",
             "    2h 30m 14d ; refresh, retry, expire", "    5m )"]  # fmt: skip
    default = 3600
    for part in parts:
        origin = str(part[0]["group"])
        if origin != apex:
            lines += ["", f"$ORIGIN {origin}"]
        for row in part:
            if rng.random() < 0.1:
                default = rng.choice(_TTLS)
                lines.append(f"$TTL {_ttl(rng, default)}")
            lines.append(_entry(rng, row, origin, default))
    return "".join(f"{line}\n" for line in lines).encode()


def _entry(rng: random.Random, row: Row, origin: str, default: int) -> str:
    owner, ttl = _relative(rng, str(row["key"]), origin), number(row["quantity"])
    written = [] if ttl == default else [_ttl(rng, ttl)]
    front = rng.choice((["IN", *written], [*written, "IN"], written))
    kind, value = str(row["category"]), str(row["text"])
    if kind == "TXT":
        cut = rng.randint(1, len(value) - 1)
        data = rng.choice(
            (f'"{value}"', f'( "{value[:cut]}"\n        "{value[cut:]}" )', f'"{value[:cut]}" "{value[cut:]}"')
        )
    elif kind in ("CNAME", "MX"):
        data = f"{'10 ' if kind == 'MX' else ''}{_relative(rng, value, origin)}"
    else:
        data = value
    comment = rng.choice(("", "", "", " ; checked", "   ; (old)"))
    return f"{owner}{rng.choice((' ', chr(9), '   '))}{' '.join([*front, kind])} {data}{comment}"


def _relative(rng: random.Random, name: str, origin: str) -> str:
    return name[: -len(origin) - 1] if name.endswith(f".{origin}") and rng.random() < 0.85 else name


def _ttl(rng: random.Random, seconds: int) -> str:
    if rng.random() < 0.4:
        return str(seconds)
    text, left = "", seconds
    for unit, size in sorted(_UNITS.items(), key=lambda pair: -pair[1]):
        if left >= size:
            text += f"{left // size}{unit}"
            left %= size
    return text


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    owner = Column("key", "name", "owner name")
    return {
        RECORDS: Table(
            RECORDS,
            (
                owner,
                Column("entity", "value", "value"),
                Column("category", "type", "type"),
                Column("group", "origin", "origin"),
                Column("quantity", "ttl", "TTL", "seconds"),
                Column("ref", "target", "target"),
                Column("text", "content", "value"),
            ),
            rows[RECORDS],
            "Every record but the SOA counts. Its value is the address of an `A`, the target of a `CNAME` or `MX` "
            "(without the preference) as a full name, the joined strings of a `TXT`; its origin is the one in force "
            "where it stands. Only a `CNAME` and an `MX` have a target.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (owner, Column("quantity", "seen_ttl", "seen TTLs", "seconds")),
            rows[SECOND],
            "A resolver wrote down what it saw in `{root}/resolver/<code>.csv` (`name;seconds`); a name that expired "
            "in between has several lines, and its seen TTLs add up.",
            "tr ';' '\\t' < \"$S/resolver/$LOT.csv\" > \"$W/second.tsv\"",
        ),
        BASELINE: Table(
            BASELINE,
            (owner,),
            rows[BASELINE],
            "`{root}/monitored/<code>.txt` lists the names that are monitored; some were written in capitals and "
            "without the final dot, which makes no difference.",
            "tr 'A-Z' 'a-z' < \"$S/monitored/$LOT.txt\" | sed 's/[^.]$/&./' | sort -u > \"$W/baseline.tsv\"",
        ),
    }
