#!/bin/bash
set -euo pipefail
python3 <<'EOF2'
import sqlite3
from collections import defaultdict

db = sqlite3.connect("/app/library.db")
books = {b for b, in db.execute("SELECT barcode FROM books")}
patrons = list(db.execute("SELECT id, email, joined, note FROM patrons ORDER BY id"))
known = {p[0] for p in patrons}

db.execute("CREATE TABLE orphaned_loans(id INTEGER PRIMARY KEY, patron_id INTEGER, barcode TEXT, lent TEXT, returned TEXT, reason TEXT)")
for row in list(db.execute("SELECT id, patron_id, barcode, lent, returned FROM loans")):
    missing = (row[1] not in known, row[2] not in books)
    if any(missing):
        reason = "both" if all(missing) else "patron" if missing[0] else "book"
        db.execute("INSERT INTO orphaned_loans VALUES (?,?,?,?,?,?)", (*row, reason))
        db.execute("DELETE FROM loans WHERE id=?", row[:1])

groups = defaultdict(list)
for p in patrons:
    email = (p[1] or "").strip(" ").lower()
    groups[email or p[0]].append(p)
for key, group in groups.items():
    keep, *others = [p[0] for p in group]
    for other in others:
        db.execute("UPDATE loans SET patron_id=? WHERE patron_id=?", (keep, other))
        db.execute("DELETE FROM patrons WHERE id=?", (other,))
    notes = "; ".join(sorted({p[3] for p in group if p[3]})) or None
    db.execute("UPDATE patrons SET email=?, joined=?, note=? WHERE id=?",
               (key if isinstance(key, str) else None, min(p[2] for p in group), notes, keep))
db.execute("CREATE UNIQUE INDEX patrons_email ON patrons(email)")
db.commit()
db.close()
EOF2
