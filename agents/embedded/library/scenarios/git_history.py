"""Git histories as fast-export streams: merges, cherry-picks, several addresses for one author, trailers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import entangled, epoch, listed, measured, remark, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.packing import gzipped
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_REPOSITORIES = ("billing", "router", "portal", "ledger", "scheduler", "gateway", "invoicer", "tracker")
_SCOPES = ("api", "db", "ui", "ops")
_SUBJECTS = ("retry on {code}", "drop the {name} workaround", "limit pages to {num}", "credit {mail} for {code}", "close {code}, {code}",
             "allow {ip} through", "log the caller", "document {code}", "move defaults out of code")  # fmt: skip

_READER = r"""
git init -q -b main "$W/repo"
gzip -dc "$S/history/$LOT.fi.gz" | git -C "$W/repo" fast-import --quiet
git -C "$W/repo" -c mailmap.file="$S/mailmap" log --all --no-merges --use-mailmap --numstat \
  --format='@%(trailers:key=Change,valueonly,separator=%x20)%x09%aE%x09%at%x09%s%x09%(trailers:key=Depends-On,valueonly,separator=%x20)' |
  awk -F'\t' '
    function flush() { if (head != "") print head "\t" tail "\t" added }
    /^@/ {
      flush(); kind = scope = $4; sub(/\(.*/, "", kind); sub(/^[^(]*\(/, "", scope); sub(/\).*/, "", scope)
      subject = $4; sub(/^[^:]*: /, "", subject)
      head = substr($1, 2) "\t" $2 "\t" kind "\t" scope; tail = $3 "\t" subject "\t" $5; added = 0; next }
    NF == 3 { added += $1 }
    END { flush() }' | sort -u > "$W/records.tsv"
"""


class GitHistory:
    """σ: the histories of an organisation's repositories, to be imported."""

    name: ClassVar[str] = "git-history"
    rarity: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ("git",)
    words: ClassVar[Words] = Words(
        record="change",
        records="changes",
        lot="repository",
        lots="repositories",
        task="git-history",
        heading="Histories of the repositories",
        heading_in_text="the histories of the repositories",
        errand="a release is due and the change log was never kept",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset(
            {"key", "entity", "category", "group", "quantity", "time", "text", "ref", "story", "spending"}
        ),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five repositories; one mailmap for all."""
        lots = tuple(sorted(rng.sample(_REPOSITORIES, 5)))
        authors = people(rng, 7)
        files: dict[str, bytes] = {"mailmap": _mailmap(authors, organisation)}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            changes = _changes(rng, authors, organisation)
            rows[RECORDS][lot] = tuple(sorted(changes, key=lambda row: str(row["key"])))
            files[f"history/{lot}.fi.gz"] = gzipped(_stream(rng, changes, organisation))
            strangers = [f"C{rng.randint(9000, 9999)}" for _ in range(3)]
            rows[SECOND][lot] = measured(rng, summed(changes, "key"), strangers)
            review = "".join(f"{row['key']}\t{row['quantity']}\n" for row in rows[SECOND][lot])
            rows[BASELINE][lot] = listed(rng, (row["key"] for row in changes), strangers, rng.randint(4, 7))
            files |= {f"review/{lot}.tsv": review.encode(), f"release-notes/{lot}.md": _notes(rng, rows[BASELINE][lot])}
        layout = (
            "Each repository was exported with `git fast-export` to `{root}/history/<code>.fi.gz` (gzipped; import it "
            "with `git fast-import`). Subjects read `kind(scope): text`; the trailer `Change:` holds a change's "
            "number and `Depends-On:` trailers those of the changes it builds on. `{root}/mailmap` says which "
            "addresses belong together."
        )
        return Material(lots, files, layout, _tables(rows))


def _mailmap(authors: list[str], organisation: Organisation) -> bytes:
    lines = ["# proper address <- address in commits"]
    lines += [f"<{name}@{organisation.domain}> <{_private(name)}>" for name in authors]
    return ("\n".join(lines) + "\n").encode()


def _private(name: str) -> str:
    return f"{name.replace('.', '')}@users.git.example"


def _changes(rng: random.Random, authors: list[str], organisation: Organisation) -> list[Row]:
    """Changes in the order of time; most dependencies point backwards, a few into a circle or nowhere."""
    count, first, now = rng.randint(40, 50), rng.randint(1000, 5000), epoch(2024, 4, 2, 7)
    keys = [f"C{first + 7 * place}" for place in range(count)]
    rows: list[Row] = []
    for place, key in enumerate(keys):
        now += rng.choice((rng.randint(60, 4000), rng.randint(4000, 90_000)))
        refs = set(rng.sample(keys[:place], min(place, rng.choice((0, 0, 1, 1, 2)))))
        if rng.random() < 0.05:
            refs.add(f"C{rng.randint(100, 900)}")
        rows.append({
            "key": key,
            "entity": f"{rng.choice(authors)}@{organisation.domain}",
            "category": rng.choice(("fix", "fix", "feat", "feat", "docs", "chore", "test")),
            "group": rng.choice(_SCOPES),
            "quantity": rng.choice((1, 2, 3, 5, 8, rng.randint(1, 24))),
            "time": now,
            "text": remark(rng, rng.choice(_SUBJECTS), authors, organisation.domain, ["10.0.4.7", "10.3.1.20"]),
            "ref": " ".join(sorted(refs)),
        })  # fmt: skip
    return entangled(rng, rows)


def _stream(rng: random.Random, changes: list[Row], organisation: Organisation) -> bytes:
    """A fast-import stream: work on main, topics that are merged, fixes picked to a release branch."""
    stream = _Stream(organisation)
    place, topics = 0, 0
    while place < len(changes):
        if rng.random() < 0.25 and 0 < place < len(changes) - 4:
            topics += 1
            branch, length = f"topic-{topics}", rng.randint(2, 3)
            for row in changes[place : place + length]:
                stream.commit(rng, branch, row, parent="main")
            place += length
            stream.commit(rng, "main", changes[place])
            stream.merge(branch, number(changes[place]["time"]) + 30)
        else:
            stream.commit(rng, "main", changes[place])
        place += 1
    for row in changes:
        if row["category"] == "fix" and rng.random() < 0.3:
            stream.commit(rng, "release", row, parent="main", picked=True)
    return stream.text().encode()


class _Stream:
    """Writes commits; every change adds a file of its own, so that what it adds is plain to see."""

    def __init__(self, organisation: Organisation) -> None:
        self._parts: list[str] = []
        self._marks = 0
        self._tips: dict[str, int] = {}
        self._domain = organisation.domain

    def commit(self, rng: random.Random, branch: str, row: Row, *, parent: str = "", picked: bool = False) -> None:
        self._marks += 1
        tip = self._tips.get(branch, self._tips.get(parent))
        proper = str(row["entity"])
        mail = _private(proper.partition("@")[0]) if rng.random() < 0.3 else proper
        zone = rng.choice(("+0200", "+0200", "+0000", "-0500", "+0530"))
        later = number(row["time"]) + (rng.randint(86_400, 900_000) if picked else rng.randint(0, 5000))
        trailers = [f"Depends-On: {ref}" for ref in str(row["ref"]).split()] + [f"Change: {row['key']}"]
        message = f"{row['category']}({row['group']}): {row['text']}\n\n" + "\n".join(trailers) + "\n"
        # A picked change comes again as a file of another name, because its parent has the first one already.
        content = "".join(f"{row['key']} {line}\n" for line in range(number(row["quantity"])))
        path = f"{row['group']}/{str(row['key']).lower()}{'-pick' if picked else ''}.txt"
        self._parts.append(
            f"commit refs/heads/{branch}\nmark :{self._marks}\nauthor {proper.partition('.')[0].title()} <{mail}> "
            f"{row['time']} {zone}\n"
            f"committer CI <ci@{self._domain}> {later} +0000\ndata {len(message.encode())}\n{message}"
            + (f"from :{tip}\n" if tip else "")
            + f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"
        )
        self._tips[branch] = self._marks

    def merge(self, branch: str, when: int) -> None:
        self._marks += 1
        message = f"merge {branch}\n"
        self._parts.append(
            f"commit refs/heads/main\nmark :{self._marks}\ncommitter CI <ci@{self._domain}> {when} +0000\ndata "
            f"{len(message)}\n{message}from :{self._tips['main']}\nmerge :{self._tips[branch]}\n\n"
        )
        self._tips["main"] = self._marks

    def text(self) -> str:
        return "".join(self._parts)


def _notes(rng: random.Random, baseline: tuple[Row, ...]) -> bytes:
    order = rng.sample(baseline, len(baseline))
    verbs = [rng.choice(("Fixed", "Added", "Improved")) for _ in order]
    lines = ["# Release notes", "", *(f"- {verb} with {row['key']}." for verb, row in zip(verbs, order, strict=True))]
    return ("\n".join(lines) + "\n").encode()


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    key = Column("key", "change", "change number")
    return {
        RECORDS: Table(
            RECORDS,
            (
                key,
                Column("entity", "author", "author"),
                Column("category", "kind", "kind"),
                Column("group", "scope", "scope"),
                Column("time", "time", "time"),
                Column("text", "subject", "subject text"),
                Column("ref", "depends_on", "`Depends-On` trailers"),
                Column("quantity", "added", "number of added lines", "lines"),
            ),
            rows[RECORDS],
            "Every commit on any branch is a change, except merges; what was cherry-picked (the same `Change:`) "
            "counts once. The author is the author's proper address by the mailmap, the time is the author's (not the "
            "committer's), the subject text is what follows `kind(scope): `, and the number of added lines is what "
            "`git log --numstat` says.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (key, Column("quantity", "reviewed", "lines reviewed", "lines")),
            rows[SECOND],
            "The review tool keeps a list of its own, `{root}/review/<code>.tsv`: change number, tab, lines reviewed; "
            "a change that was reviewed in several rounds has several lines.",
            'cat "$S/review/$LOT.tsv" > "$W/second.tsv"',
        ),
        BASELINE: Table(
            BASELINE,
            (key,),
            rows[BASELINE],
            "`{root}/release-notes/<code>.md` is the draft of the release notes; it names changes by their numbers "
            "(`C` and four digits).",
            'grep -oE \'C[0-9]{4}\' "$S/release-notes/$LOT.md" | sort -u > "$W/baseline.tsv"',
        ),
    }
