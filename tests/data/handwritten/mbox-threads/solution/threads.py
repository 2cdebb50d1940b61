import email.header
import email.utils
import json
import mailbox
import re
from datetime import timezone

archive = {}
for message in mailbox.mbox("/home/user/rowers.mbox"):
    archive[message["Message-ID"].strip()] = message


def date(name):
    return email.utils.parsedate_to_datetime(archive[name]["Date"]).astimezone(timezone.utc)


children, roots = {name: [] for name in archive}, []
for name in sorted(archive, key=date):
    m = archive[name]
    named = re.findall(r"<[^>]*>", f"{m['References'] or ''} {m['In-Reply-To'] or ''}")
    known = [a for a in named if a in archive]
    (children[known[-1]] if known else roots).append(name)


def walk(name, level=1):
    yield name, level
    for child in children[name]:
        yield from walk(child, level + 1)


result = []
for root in roots:
    visits = list(walk(root))
    subject = str(email.header.make_header(email.header.decode_header(archive[root]["Subject"])))
    result.append({
        "root": root,
        "subject": subject.removeprefix("Re: "),
        "started": date(root).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "size": len(visits),
        "depth": max(level for _, level in visits),
        "authors": sorted({email.utils.parseaddr(archive[n]["From"])[1] for n, _ in visits}),
        "order": [n for n, _ in visits],
    })
with open("/home/user/threads.json", "w", encoding="utf-8") as f:
    json.dump(result, f, ensure_ascii=False, indent=1)
