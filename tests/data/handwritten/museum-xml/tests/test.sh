#!/bin/bash
python3 -I - <<'PY'
import json, os, xml.dom.minidom
ok, seen = True, {}
for o in xml.dom.minidom.parse("/tests/objects.xml").getElementsByTagNameNS("urn:museum", "object"):
    def child(ns, name):
        return next(iter(o.getElementsByTagNameNS(ns, name)), None)
    title = "".join(n.data for n in child("urn:museum", "title").childNodes).strip()
    value, loan = child("urn:museum", "value"), child("urn:loans", "loan")
    eur = int(value.firstChild.data) if value and value.getAttribute("currency") == "EUR" else None
    seen.setdefault(o.getAttribute("room") + ".json", []).append(
        {"inv": o.getAttribute("inv"), "title": title, "eur": eur, "loan": loan.getAttribute("to") if loan else None})
try:
    assert set(os.listdir("/opt/museum/rooms")) == set(seen), "files"
    for name, want in seen.items():
        with open(f"/opt/museum/rooms/{name}", encoding="utf-8") as f:
            assert json.load(f) == sorted(want, key=lambda o: o["inv"]), name
except (OSError, ValueError, AssertionError) as e:
    print("FAIL", e)
    ok = False
with open("/logs/verifier/reward.txt", "w") as f:
    f.write("1.0" if ok else "0.0")
PY
