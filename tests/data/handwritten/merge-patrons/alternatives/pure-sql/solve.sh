#!/bin/bash
# One SQL script, rebuilding the notes with a recursive-free group_concat over an ordered subquery.
cat > /tmp/m.sql <<'SQL'
begin;
create table orphaned_loans as
  select l.*, case when p.id is null and b.barcode is null then 'both' when p.id is null then 'patron' else 'book' end as reason
  from loans l left join patrons p on p.id = l.patron_id left join books b on b.barcode = l.barcode
  where p.id is null or b.barcode is null;
delete from loans where id in (select id from orphaned_loans);
update patrons set email = nullif(lower(trim(email)), ''), note = nullif(note, '');
create temp table keep as
  select id, coalesce((select min(q.id) from patrons q where q.email = patrons.email), id) as k from patrons;
update loans set patron_id = (select k from keep where keep.id = patron_id);
create temp table merged as
  select k, min(joined) as joined from patrons join keep using (id) group by k;
create temp table notes as
  select k, group_concat(note, '; ') as note
  from (select distinct k, note from patrons join keep using (id) where note is not null order by k, note) group by k;
delete from patrons where id not in (select k from keep);
update patrons set joined = (select joined from merged where k = id), note = (select note from notes where k = id);
create unique index patrons_email on patrons(email);
commit;
vacuum;
SQL
python3 -c '
import sqlite3
c = sqlite3.connect("/app/library.db", isolation_level=None)
c.executescript(open("/tmp/m.sql").read())
'
