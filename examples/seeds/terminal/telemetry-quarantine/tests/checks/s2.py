out = "/app/out/s2-tenths-percentiles.csv"
want = expected("s2")


def check_header():
    header, rows = load_table(out)
    same(header, "state,count,p50,p80,max".split(","), "the header")
    same(all(len(row) == len(header) for row in rows), True, "all rows as wide as the header")
    same(len(rows), want.count_of_rows, "the number of rows")


def check_counts():
    rows = load_table(out)[1]
    same([row[:2] for row in rows], want.counts, "names and counts")


def check_p50():
    same([row[2] for row in load_table(out)[1]], want.low, "the column p50")


def check_p80_and_max():
    same([row[3:] for row in load_table(out)[1]], want.high, "the columns p80 and max")


def check_bytes():
    same_rows(load_lines(out), want.lines, "the lines of " + out)
