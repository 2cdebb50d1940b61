#!/bin/bash
set -e
cat > /tmp/convert.py <<'PY'
import pathlib, unicodedata

SRC, DST = pathlib.Path("/srv/texts/in"), pathlib.Path("/srv/texts/utf8")
CODECS = {"utf-16le": "utf-16", "utf-16be": "utf-16", "utf-8-bom": "utf-8-sig", "windows-1252": "cp1252"}

def encoding(raw):
    for mark, name in (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"), (b"\xef\xbb\xbf", "utf-8-bom"):
        if raw.startswith(mark):
            return name
    if raw.isascii():
        return "ascii"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    if set(raw) & {0x81, 0x8D, 0x8F, 0x90, 0x9D}:
        return "broken"
    return "windows-1252" if any(0x80 <= byte <= 0x9F for byte in raw) else "latin-1"

report = []
for file in SRC.rglob("*.txt"):
    raw, name = file.read_bytes(), file.relative_to(SRC)
    kind = encoding(raw)
    report.append(f"{name}\t{kind}\n")
    if kind != "broken":
        text = unicodedata.normalize("NFC", raw.decode(CODECS.get(kind, kind)))
        text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        (DST / name).parent.mkdir(parents=True, exist_ok=True)
        (DST / name).write_bytes((text + "\n" if text else "").encode())
pathlib.Path("/srv/texts/report.tsv").write_text("".join(sorted(report, key=lambda row: row.split("\t")[0].encode())))
PY
python3 /tmp/convert.py
