out = "/app/out/s1-code-index.csv"
want = expected("s1")


def check_header():
    header, rows = load_table(out)
    same(header, "code,occurrences,changes,first".split(","), "the header")
    same(len(rows), want.codes, "the number of codes")


def check_occurrences():
    same_rows([row[:2] for row in load_table(out)[1]], want.occurrences, "codes and occurrences")


def check_records():
    same_rows(sorted([row[0], row[2]] for row in load_table(out)[1]), want.records, "the third column")


def check_first():
    same_rows(sorted([row[0], row[3]] for row in load_table(out)[1]), want.first, "the column first")
