#!/bin/bash
mkdir -p /opt/museum/rooms && cd /opt/museum && python3 - <<'PY'
import collections, json, xml.etree.ElementTree as ET
rooms = collections.defaultdict(list)
for o in ET.parse("objects.xml").getroot():
    v, loan = o.find("{urn:museum}value"), o.find("{urn:loans}loan")
    rooms[o.get("room")].append({
        "inv": o.get("inv"), "title": o.find("{urn:museum}title").text.strip(),
        "eur": int(v.text) if v is not None and v.get("currency") == "EUR" else None,
        "loan": None if loan is None else loan.get("to")})
for room, objects in rooms.items():
    with open(f"rooms/{room}.json", "w") as f:
        json.dump(sorted(objects, key=lambda o: o["inv"]), f)
PY
