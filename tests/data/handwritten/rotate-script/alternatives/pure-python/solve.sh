#!/bin/bash
cat > /opt/rotate/rotate.sh <<'SCRIPT'
#!/usr/bin/env python3
import argparse, collections, datetime, os, re, sys

p = argparse.ArgumentParser()
p.add_argument("-n", action="store_true")
p.add_argument("-k", default="5")
p.add_argument("directory")
p.add_argument("today", nargs="?")
a = p.parse_args()

def day(text, form):
    try:
        return datetime.datetime.strptime(text, form).date()
    except ValueError:
        return None

today = datetime.date.today()
if a.today is not None:
    today = day(a.today, "%Y-%m-%d") if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", a.today) else None
if today is None or not re.fullmatch("[0-9]+", a.k) or not os.path.isdir(a.directory):
    sys.exit(2)

hosts = collections.defaultdict(list)
for e in os.scandir(os.fsencode(a.directory)):
    m = re.fullmatch(rb"(.+)-([0-9]{8})\.tar", e.name, re.S)
    if m and e.is_file(follow_symlinks=False) and day(m[2].decode(), "%Y%m%d"):
        hosts[m[1]].append((day(m[2].decode(), "%Y%m%d"), e.name))
gone = []
for files in hosts.values():
    files.sort()
    keep = {files[-1]} | {f for f in files if f[0] >= today}
    past = [f for f in files if f[0] < today]
    n = int(a.k)
    keep |= set(past[len(past) - n:] if n <= len(past) else past) if n else set()
    months = {}
    for f in files:
        months.setdefault((f[0].year, f[0].month), f)
    keep |= set(months.values())
    gone += [f[1] for f in files if f not in keep]
for name in sorted(gone):
    if not a.n:
        os.unlink(os.path.join(os.fsencode(a.directory), name))
    sys.stdout.buffer.write(name + b"\n")
SCRIPT
chmod +x /opt/rotate/rotate.sh
