"""Derives from the database as it was what it must be now, in SQL and sets; exits with 1 at the first difference."""

import itertools
import sqlite3
import sys


def fail(what, *more):
    sys.stderr.write(f"{what} {more}\n")
    sys.exit(1)


def rows(db, sql):
    try:
        return sorted(db.execute(sql).fetchall(), key=repr)
    except sqlite3.Error as e:
        fail(sql, e)


before = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
try:
    after = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
except sqlite3.Error as e:
    fail("no database", e)

if rows(after, "PRAGMA integrity_check") != [("ok",)]:
    fail("integrity_check")

# What must not have changed.
for sql in ("SELECT * FROM books", "SELECT * FROM settings", "SELECT name, type FROM pragma_table_info('patrons')",
            "SELECT name, type FROM pragma_table_info('loans')"):
    if rows(before, sql) != rows(after, sql):
        fail("changed:", sql)
names = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
lost = set(rows(before, names)) - set(rows(after, names))
if lost:
    fail("gone:", lost)
rows(after, "SELECT * FROM open_loans")

# Orphans.
orphans = rows(before, """
    SELECT id, patron_id, barcode, lent, returned,
           CASE patron_id IN (SELECT id FROM patrons) WHEN 1 THEN 'book'
           ELSE CASE barcode IN (SELECT barcode FROM books) WHEN 1 THEN 'patron' ELSE 'both' END END
    FROM loans WHERE patron_id NOT IN (SELECT id FROM patrons) OR barcode NOT IN (SELECT barcode FROM books)""")
if orphans != rows(after, "SELECT id, patron_id, barcode, lent, returned, reason FROM orphaned_loans"):
    fail("orphaned_loans")

# Patrons.
people = before.execute("SELECT id, name, lower(trim(coalesce(email, ''))), joined, note FROM patrons ORDER BY 3, 1").fetchall()
expected, heir = [], {}
for email, group in itertools.groupby(people, key=lambda p: p[2] or p[0]):
    group = list(group)
    survivor = group[0]
    heir.update((p[0], survivor[0]) for p in group)
    notes = sorted(set(p[4] for p in group) - {None, ""})
    expected.append((survivor[0], survivor[1], survivor[2] or None, min(p[3] for p in group), "; ".join(notes) or None))
if sorted(expected, key=repr) != rows(after, "SELECT id, name, email, joined, note FROM patrons"):
    fail("patrons")

# Loans.
gone = {o[0] for o in orphans}
loans = [(i, heir[p], *rest) for i, p, *rest in before.execute("SELECT * FROM loans") if i not in gone]
if sorted(loans, key=repr) != rows(after, "SELECT * FROM loans"):
    fail("loans")

index = [i for i in after.execute("PRAGMA index_list(patrons)") if i[1] == "patrons_email"]
if not index or index[0][2] != 1 or index[0][4] != 0:
    fail("patrons_email is missing, partial, or not unique")
if [c[2] for c in after.execute("PRAGMA index_info(patrons_email)")] != ["email"]:
    fail("patrons_email covers other columns")
print("all good")
