#!/bin/bash
cat > /tmp/r.py <<'PY'
import html, json, os, re
text = re.sub(r"<!--.*?-->", "", open("/opt/museum/objects.xml", encoding="latin-1").read(), flags=re.S)
text = re.sub(r"<!\[CDATA\[(.*?)\]\]>", lambda m: html.escape(m[1]), text, flags=re.S)
def one(pattern, body):
    m = re.search(pattern, body, re.S)
    return html.unescape(m[1]).strip() if m else None
rooms = {}
for inv, room, body in re.findall(r"<m:object inv=\"(.*?)\" room='(.*?)'>(.*?)</m:object>", text, re.S):
    eur = one(r'currency="EUR">(\d+)<', body)
    rooms.setdefault(room, []).append(dict(loan=one(r'<l:loan to="(.*?)"', body), eur=eur and int(eur), title=one("<m:title>(.*?)</m:title>", body), inv=inv))
os.makedirs("/opt/museum/rooms", exist_ok=True)
for room in rooms:
    rooms[room].sort(key=lambda o: o["inv"])
    open(f"/opt/museum/rooms/{room}.json", "w", encoding="utf-8").write(json.dumps(rooms[room], indent=2, ensure_ascii=False) + "\n")
PY
python3 /tmp/r.py
