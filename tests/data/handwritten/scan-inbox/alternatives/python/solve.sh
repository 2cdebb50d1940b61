python3 -c '
import os
os.chdir("/home/user/inbox")
kept, log = {}, []
paths = [os.path.relpath(os.path.join(d, f)) for d, _, fs in os.walk(".") for f in fs]
for p in sorted(paths, key=lambda p: (len(os.fsencode(p)), os.fsencode(p))):
    data = open(p, "rb").read()
    if data and kept.setdefault(data, p) != p:
        log.append((p, kept[data]))
        os.remove(p)
for d, _, _ in list(os.walk(".", topdown=False)):
    if d != "." and not os.listdir(d):
        os.rmdir(d)
log.sort()
open("/home/user/removed.tsv", "w").write("".join(f"{a}\t{b}\n" for a, b in log))
'
