"""A tree of INI files with defaults, includes, numbered drop-ins and environment overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import listed, measured, remark, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import clock

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_CLUSTERS = ("blue", "green", "amber", "violet", "crimson", "teal", "ivory", "slate")
_FRONT = (
    "api",
    "auth",
    "bill",
    "cart",
    "mail",
    "map",
    "pay",
    "rate",
    "scan",
    "ship",
    "sync",
    "track",
    "user",
    "stock",
    "print",
)
_BACK = ("core", "edge", "gate", "hub", "job")
_NOTES = (
    "ask {mail}",
    "moved from {ip} with {code}",
    "see {code}",
    "owned by {mail} since {code}",
    "temporary",
    "pinned to {ip}; {code}",
)
_KEYS = ("node", "tier", "team", "memory", "depends", "window", "note", "enabled")

_READER = r"""
python3 - "$S/config/$LOT" "$W/records.tsv" <<'PY'
import glob, os, re, sys
folder, out = sys.argv[1:]
services, defaults = {}, {}
def load(path):
    section = None
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("%include "):
            load(os.path.join(os.path.dirname(path), line.split(None, 1)[1]))
        elif line.startswith("["):
            name = line[1:-1]
            section = defaults if name == "defaults" else services.setdefault(name.removeprefix("service ").strip(), {})
        else:
            key, _, value = line.partition("=")
            section[key.strip()] = value.strip().strip('"')
load(folder + "/base.ini")
for path in sorted(glob.glob(folder + "/conf.d/*.ini")):
    load(path)
for line in open(folder + "/overrides.env", encoding="utf-8"):
    found = re.match(r"(?:export )?([A-Z0-9_]+?)__([A-Z]+)=(.*)$", line.strip())
    if found:
        services[found.group(1).lower().replace("_", "-")][found.group(2).lower()] = found.group(3).strip("'\"")
def megabytes(text):
    return int(text[:-1]) * (1024 if text.endswith("G") else 1)
def minutes(text):
    return int(text[:2]) * 60 + int(text[3:])
with open(out, "w", encoding="utf-8") as lines:
    for name, own in sorted(services.items()):
        s = {**defaults, **own}
        if s["enabled"].lower() not in ("yes", "true", "on", "1"):
            continue
        first, last = s["window"].split("-")
        row = (name, s["node"], s["tier"], s["team"], megabytes(s["memory"]), " ".join(sorted(re.split(r"[, ]+", s["depends"]))) if s.get("depends") else "",
               minutes(first), minutes(last), s.get("note", ""))
        print(*row, sep="\t", file=lines)
PY
"""


class ServiceConfig:
    """σ: the configuration of a few clusters' services, as it takes effect."""

    name: ClassVar[str] = "service-config"
    rarity: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="service",
        records="services",
        lot="cluster",
        lots="clusters",
        task="service-config",
        heading="Service configuration of the clusters",
        heading_in_text="the service configuration of the clusters",
        errand="the clusters are to move and nobody knows what their configuration adds up to",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "ref", "start", "end", "text"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five clusters with some thirty services each."""
        lots = tuple(sorted(rng.sample(_CLUSTERS, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            settings, defaults = _settings(rng, organisation)
            rows[RECORDS][lot] = _effective(settings, defaults)
            files |= {f"config/{lot}/{path}": text.encode() for path, text in _tree(rng, settings, defaults).items()}
            strangers = [f"{rng.choice(_FRONT)}-old", f"{rng.choice(_FRONT)}-canary"]
            rows[SECOND][lot] = measured(rng, summed(rows[RECORDS][lot], "key"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["key"] for row in rows[RECORDS][lot]), strangers, rng.randint(3, 6))
            metrics = "".join(f'resident_mb{{service="{row["key"]}"}} {row["quantity"]}\n' for row in rows[SECOND][lot])
            register = "".join(f"- name: {row['key']}\n" for row in rows[BASELINE][lot])
            files |= {
                f"metrics/{lot}.prom": metrics.encode(),
                f"register/{lot}.yaml": f"services:\n{register}".encode(),
            }
        layout = (
            "A cluster's services are configured in `{root}/config/<code>/`: `base.ini` first, then the files of "
            "`conf.d/` in the order of their names; a line `%include FILE` stands for that file (relative to the one "
            "that has the line). In `[service NAME]` and `[defaults]` a setting read later replaces one read before; "
            "a service takes from the defaults, as they are in the end, what it does not set itself. Last, "
            "`overrides.env` sets single values: `API_CORE__MEMORY=2G` is `memory` of `api-core` (upper case, hyphens "
            "as underscores, `export` and quotes are decoration). Lines that begin with `#` or `;` are comments, "
            "double quotes around a value are not part of it. `memory` is in `M` or `G` (1 G is 1024 M), `window` is "
            "`HH:MM-HH:MM`, `depends` a list with commas or blanks."
        )
        return Material(lots, files, layout, _tables(rows))


_CHOICES = {
    "node": ("n1", "n2", "n3", "n4", "n5"),
    "tier": ("gold", "silver", "bronze"),
    "team": ("checkout", "platform", "data", "field"),
    "memory": ("128M", "256M", "384M", "512M", "768M", "1G", "2G", "3G"),
    "enabled": ("yes", "yes", "yes", "true", "on", "no"),
}


def _value(rng: random.Random, key: str, names: list[str], staff: list[str], domain: str) -> str:
    """A drawn value of one setting."""
    match key:
        case "depends":
            chosen = sorted(rng.sample(names, min(len(names), rng.choice((0, 1, 1, 2)))))
            return rng.choice((", ", " ", ",")).join(chosen)
        case "window":
            start = rng.randint(0, 88) * 15
            return f"{clock(start)}-{clock(start + rng.choice((30, 45, 60, 90)))}"
        case "note":
            return remark(rng, rng.choice(_NOTES), staff, domain, ["10.4.4.4", "10.4.9.1", "10.60.0.7"])
        case _:
            return rng.choice(_CHOICES[key])


def _settings(
    rng: random.Random, organisation: Organisation
) -> tuple[dict[str, dict[str, list[str]]], dict[str, list[str]]]:
    """Service → setting → the values it gets one after the other; and the same for the defaults."""
    names = sorted(rng.sample([f"{front}-{back}" for front in _FRONT for back in _BACK], rng.randint(26, 32)))
    staff = people(rng, 5)
    order = rng.sample(names, len(names))
    settings: dict[str, dict[str, list[str]]] = {}
    for place, name in enumerate(order):
        earlier = order[:place] if rng.random() < 0.93 else [*order, "legacy-bus"]
        others = [other for other in earlier if other != name]
        own: dict[str, list[str]] = {}
        for key in _KEYS:
            optional = key in ("tier", "team", "enabled", "window")
            if optional and rng.random() < 0.4:
                continue
            own[key] = [
                _value(rng, key, others, staff, organisation.domain) for _ in range(rng.choice((1, 1, 1, 2, 3)))
            ]
        settings[name] = own
    _close_circle(rng, settings)
    defaults = {
        "tier": ["bronze", "silver"],
        "team": [rng.choice(("platform", "data"))],
        "enabled": ["yes"],
        "window": ["03:00-04:00"],
    }
    return settings, defaults


def _close_circle(rng: random.Random, settings: Mapping[str, dict[str, list[str]]]) -> None:
    """Lets one service depend on another that depends on it."""
    edges = [
        (name, other)
        for name, own in settings.items()
        for other in own["depends"][-1].replace(",", " ").split()
        if other in settings
    ]
    if edges:
        name, other = rng.choice(edges)
        settings[other]["depends"][-1] = " ".join(
            sorted({*settings[other]["depends"][-1].replace(",", " ").split(), name})
        )


def _effective(settings: Mapping[str, Mapping[str, list[str]]], defaults: Mapping[str, list[str]]) -> tuple[Row, ...]:
    rows: list[Row] = []
    for name, own in sorted(settings.items()):
        final = {key: values[-1] for key, values in {**defaults, **own}.items()}
        if final["enabled"] == "no":
            continue
        size, (start, end) = final["memory"], final["window"].split("-")
        rows.append({
            "key": name,
            "entity": final["node"],
            "category": final["tier"],
            "group": final["team"],
            "quantity": int(size[:-1]) * (1024 if size.endswith("G") else 1),
            "ref": " ".join(sorted(final["depends"].replace(",", " ").split())),
            "start": int(start[:2]) * 60 + int(start[3:]),
            "end": int(end[:2]) * 60 + int(end[3:]),
            "text": final["note"],
        })  # fmt: skip
    return tuple(rows)


def _tree(
    rng: random.Random, settings: Mapping[str, Mapping[str, list[str]]], defaults: Mapping[str, list[str]]
) -> dict[str, str]:
    """The files; a setting's values are spread over stages that are read one after the other."""
    stages = (
        "shared/common.ini",
        "base.ini",
        "conf.d/10-site.ini",
        "conf.d/20-sizes.ini",
        "conf.d/90-hotfix.ini",
        "overrides.env",
    )
    texts: dict[str, list[str]] = {stage: [] for stage in stages}
    texts["base.ini"] += ["# services of this cluster", "%include shared/common.ini", ""]
    per_stage: dict[str, dict[str, list[str]]] = {stage: {} for stage in stages}
    for name, own in [("defaults", dict(defaults)), *settings.items()]:
        for key, values in own.items():
            last = 5 if name == "defaults" else 6
            for place, value in zip(sorted(rng.sample(range(last), len(values))), values, strict=True):
                per_stage[stages[place]].setdefault(name, []).append(_setting(rng, stages[place], name, key, value))
        # Every service stands in the base file, even when all its settings come from elsewhere.
        per_stage["base.ini"].setdefault(name, [])
    for stage, sections in per_stage.items():
        for name, lines in sections.items():
            if stage == "overrides.env":
                texts[stage] += lines
            else:
                texts[stage] += ["[defaults]" if name == "defaults" else f"[service {name}]", *lines, ""]
    return {stage: "".join(f"{line}\n" for line in lines) for stage, lines in texts.items()}


def _setting(rng: random.Random, stage: str, name: str, key: str, value: str) -> str:
    if stage == "overrides.env":
        mark = rng.choice(('"', "'"))
        return f"{rng.choice(('', 'export '))}{name.upper().replace('-', '_')}__{key.upper()}={mark}{value}{mark}"
    shown = f'"{value}"' if rng.random() < 0.3 else value
    return f"{key}{rng.choice((' = ', '='))}{shown}"


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    service = Column("key", "service", "service name")
    return {
        RECORDS: Table(
            RECORDS,
            (
                service,
                Column("entity", "node", "node"),
                Column("category", "tier", "tier"),
                Column("group", "team", "team"),
                Column("quantity", "memory_mb", "memory", "M"),
                Column("ref", "depends", "`depends`"),
                Column("start", "start", "start of the window", "minutes"),
                Column("end", "end", "end of the window", "minutes"),
                Column("text", "note", "note"),
            ),
            rows[RECORDS],
            "Only services that are enabled in the end count (`yes`, `true` and `on` mean that, `no` does not). A "
            "service runs its maintenance during its window, on its node; results give memory in M.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (service, Column("quantity", "resident_mb", "resident sizes", "M")),
            rows[SECOND],
            'What the services really use was scraped to `{root}/metrics/<code>.prom`, in lines like `resident_mb{service="api-core"} 512`; a '
            "service with several instances has several lines.",
            'sed -E \'s/.*service="([^"]+)"\\} ([0-9]+)$/\\1\\t\\2/\' "$S/metrics/$LOT.prom" > "$W/second.tsv"',
        ),
        BASELINE: Table(
            BASELINE,
            (service,),
            rows[BASELINE],
            "`{root}/register/<code>.yaml` is the register: a list of `- name: SERVICE` under `services:`.",
            'sed -n \'s/^- name: //p\' "$S/register/$LOT.yaml" | sort -u > "$W/baseline.tsv"',
        ),
    }
