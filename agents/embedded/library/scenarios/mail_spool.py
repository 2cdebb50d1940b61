"""Mail spools in mbox format: encoded subjects, several body encodings, threads, mail delivered twice."""

from __future__ import annotations

import base64
import quopri
from datetime import UTC, datetime, timedelta, timezone
from email.header import Header
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, listed, remark, visits
from agents.embedded.library.framework import BASELINE, ENCODED, RECORDS, Column, Material, Row, Table, Words
from agents.embedded.library.packing import gzipped
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_BOXES = ("claims", "billing", "facilities", "orders", "press", "quality", "returns", "support", "travel")
_SUBJECTS = ("Störung {code}", "Rückfrage zu {code} / {code}", "invoice {code}", "please call {mail}", "déjà vu: {code}", "login from {ip}",
             "Übergabe an {mail}", "no reply yet", "Größe {num} vergriffen ({code})")  # fmt: skip
_BODIES = ("Grüße aus Köln, {name}", "Die Straße ist gesperrt.\nBitte {code} umleiten.", "From today on: {code}.", "Ça marche, merci {name} !",
           "Preis: {num} €, siehe {code}", "naïve café señor {num}", "nothing new\nFrom our side: {num}")  # fmt: skip
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_READER = r"""
gzip -dc "$S/spool/$LOT.mbox.gz" > "$W/mbox"
python3 - "$W/mbox" "$W" <<'PY'
import email, re, sys
from email.header import decode_header, make_header
from email.utils import parseaddr, parsedate_to_datetime
spool, work = sys.argv[1:]
records, encoded = {}, {}
for chunk in re.split(rb"^From .*\n", open(spool, "rb").read(), flags=re.M)[1:]:
    chunk = re.sub(rb"^>(>*From )", rb"\1", chunk[:-1], flags=re.M)
    mail = email.message_from_bytes(chunk)
    key = mail["Message-ID"].strip().strip("<>").split("@")[0]
    if key in records:
        continue
    refs = [ref.strip("<>").split("@")[0] for ref in (mail["In-Reply-To"] or "").split()]
    subject = str(make_header(decode_header(re.sub(r"\r?\n\s", " ", mail["Subject"]))))
    records[key] = (key, parseaddr(mail["From"])[1].lower(), mail["X-Queue"], mail["X-Priority"].split()[0], mail["X-Minutes"],
                    int(parsedate_to_datetime(mail["Date"]).timestamp()), subject, " ".join(refs))
    coding = (mail["Content-Transfer-Encoding"] or "8bit").lower()
    if coding not in ("base64", "quoted-printable"):
        coding = mail.get_content_charset()
    encoded[key] = (key, coding, chunk.split(b"\n\n", 1)[1].hex())
for name, rows in (("records", records), ("encoded", encoded)):
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for _, row in sorted(rows.items()))
PY
"""


class MailSpool:
    """σ: shared mailboxes of a help desk."""

    name: ClassVar[str] = "mail-spool"
    rarity: ClassVar[int] = 4
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="message",
        records="messages",
        lot="mailbox",
        lots="mailboxes",
        task="mail-spool",
        heading="Mail spools of the help desk",
        heading_in_text="the mail spools of the help desk",
        errand="the desk says it drowns in mail and wants figures to show for it",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset(
            {"key", "entity", "category", "group", "quantity", "time", "text", "ref", "story", "spending"}
        ),
        BASELINE: frozenset({"key"}),
        ENCODED: frozenset({"key", "coding", "raw", "plain"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five mailboxes with some forty messages each."""
        lots = tuple(sorted(rng.sample(_BOXES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            messages = _messages(rng, organisation)
            encoded = [_encoded(rng, row) for row in messages]
            rows[RECORDS][lot] = tuple(sorted(messages, key=lambda row: str(row["key"])))
            rows[ENCODED][lot] = tuple(sorted(encoded, key=lambda row: str(row["key"])))
            files[f"spool/{lot}.mbox.gz"] = gzipped(_mbox(rng, messages, encoded, organisation))
            strangers = [f"{name}@{organisation.domain}" for name in people(rng, 3)]
            rows[BASELINE][lot] = listed(rng, (row["entity"] for row in messages), strangers, rng.randint(3, 4))
            book = "".join(
                f"{row['key']}\n" if rng.random() < 0.6 else f"<{str(row['key']).title()}>\n"
                for row in rows[BASELINE][lot]
            )
            files[f"address-book/{lot}.txt"] = book.encode()
        layout = (
            "A mailbox's spool is `{root}/spool/<code>.mbox.gz` (gzipped mbox: each message follows a line that "
            "begins with `From ` and is ended by an empty line; a body line that would begin with `From ` has a `>` "
            "in front, which is not part of it). A message's id is its `Message-ID` up to the `@`, without the angle "
            "bracket; its sender is the bare address in `From:` in lower case; `X-Queue`, `X-Priority` (its number) "
            "and `X-Minutes` (minutes that it took) were added by the desk. Long headers are folded, subjects may be "
            "encoded (RFC 2047), dates have zones. A message that was delivered twice (the same id) counts once."
        )
        return Material(lots, files, layout, _tables(rows))


def _messages(rng: random.Random, organisation: Organisation) -> list[Row]:
    staff = people(rng, 10)
    senders = [f"{name}@{organisation.domain}" for name in staff]
    start = epoch(2024, 6, 3)
    rows: list[Row] = []
    for moment, sender in visits(rng, senders, start, start + 6 * 86_400, rng.randint(38, 46)):
        earlier = [str(row["key"]) for row in rows]
        ref = rng.choice(earlier) if earlier and rng.random() < 0.55 else ""
        ref = f"x{rng.getrandbits(24):06x}" if rng.random() < 0.07 else ref
        rows.append({
            "key": f"m{rng.getrandbits(32):08x}",
            "entity": sender,
            "category": rng.choice(("new", "new", "waiting", "escalated", "done")),
            "group": str(rng.randint(1, 4)),
            "quantity": rng.choice((0, 2, 5, 5, 10, rng.randint(1, 90))),
            "time": moment,
            "text": remark(rng, rng.choice(_SUBJECTS), staff, organisation.domain, ["10.8.1.2", "10.8.1.77"]),
            "ref": ref,
            "body": remark(rng, rng.choice(_BODIES), staff, organisation.domain, ["10.8.1.2"]),
        })  # fmt: skip
    return rows


def _encoded(rng: random.Random, row: Row) -> Row:
    """A message's body in one of the encodings; `raw` is what stands in the spool."""
    body = str(row["body"]) + "\n"
    coding = rng.choice(("base64", "quoted-printable", "iso-8859-15", "windows-1252", "utf-8"))
    if coding == "base64":
        raw = base64.encodebytes(body.encode())
    elif coding == "quoted-printable":
        raw = quopri.encodestring(body.encode())
    else:
        raw = body.encode(coding)
    return {"key": row["key"], "coding": coding, "raw": raw.hex(), "plain": str(row["body"]).replace("\n", " ")}


def _mbox(rng: random.Random, messages: list[Row], encoded: list[Row], organisation: Organisation) -> bytes:
    parts: list[bytes] = []
    for row, body in zip(messages, encoded, strict=True):
        parts.append(_message(rng, row, body, organisation))
        if rng.random() < 0.12:  # delivered twice
            parts.append(parts[-1])
    return b"".join(parts)


def _message(rng: random.Random, row: Row, body: Row, organisation: Organisation) -> bytes:
    sender, coding = str(row["entity"]), str(body["coding"])
    given = sender.partition(".")[0].title()
    shown = rng.choice(
        (sender, f"{given} <{sender}>", f'"{given}, desk" <{sender.upper() if rng.random() < 0.3 else sender}>')
    )
    charset, transfer = ("utf-8", coding) if coding in ("base64", "quoted-printable") else (coding, "8bit")
    subject = str(row["text"])
    if not subject.isascii():
        subject = Header(subject, rng.choice(("utf-8", "iso-8859-1")), maxlinelen=60, header_name="Subject").encode()
    zone = timezone(timedelta(hours=rng.choice((-5, 0, 1, 2)), minutes=rng.choice((0, 0, 30))))
    at = datetime.fromtimestamp(number(row["time"]), zone)
    sent = f"{_DAYS[at.weekday()]}, {at.day} {_MONTHS[at.month - 1]} {at:%Y %H:%M:%S %z}"
    headers = [f"From: {shown}", f"To:\n desk@{organisation.domain}", f"Subject: {subject}", f"Date: {sent}"]
    headers += [f"Message-ID: <{row['key']}@mail.{organisation.domain}>", f"X-Queue: {row['category']}"]
    headers += [f"X-Priority: {row['group']}{rng.choice(('', ' (normal)'))}", f"X-Minutes: {row['quantity']}"]
    headers += [f"Content-Type: text/plain;\n charset={charset}", f"Content-Transfer-Encoding: {transfer}"]
    if row["ref"]:
        headers.append(f"In-Reply-To:\n <{row['ref']}@mail.{organisation.domain}>")
    arrived = datetime.fromtimestamp(number(row["time"]) + 20, UTC)
    envelope = f"From {sender} {_DAYS[arrived.weekday()]} {_MONTHS[arrived.month - 1]} {arrived.day:2d} {arrived:%H:%M:%S %Y}\n"
    head = "".join(f"{line}\n" for line in rng.sample(headers, len(headers)))
    lines = bytes.fromhex(str(body["raw"])).split(b"\n")
    quoted = b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)
    return f"{envelope}{head}\n".encode() + quoted + b"\n"


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    key = Column("key", "id", "id")
    return {
        RECORDS: Table(
            RECORDS,
            (
                key,
                Column("entity", "sender", "sender"),
                Column("category", "queue", "queue"),
                Column("group", "priority", "priority"),
                Column("quantity", "minutes", "handling time", "minutes"),
                Column("time", "time", "date"),
                Column("text", "subject", "subject"),
                Column("ref", "in_reply_to", "`In-Reply-To`"),
            ),
            rows[RECORDS],
            "Subjects are taken decoded.",
            _READER,
        ),
        ENCODED: Table(
            ENCODED,
            (key, Column("coding", "coding", "encoding"), Column("raw", "raw", "body")),
            rows[ENCODED],
            "The texts in question are the bodies. Their encodings are all over the place: read "
            "`Content-Transfer-Encoding` (`base64`, `quoted-printable` or `8bit`) and the charset in `Content-Type`.",
            _READER,
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "sender", "sender"),),
            rows[BASELINE],
            "`{root}/address-book/<code>.txt` lists the senders that the desk knows, one a line, some in angle "
            "brackets and with capitals, neither of which matters.",
            "tr -d '<>' < \"$S/address-book/$LOT.txt\" | tr 'A-Z' 'a-z' | sort -u > \"$W/baseline.tsv\"",
            join="entity",
        ),
    }
