out = "/app/out/s1-top-source.csv"
want = expected("s1")


def check_header():
    same(load_table(out)[0], "rank,source,count,total_size_kib".split(","), "the header")


def check_ranks():
    same([row[0] for row in load_table(out)[1]], want.ranks, "the column rank")


def check_ranked():
    same_rows([row[1] for row in load_table(out)[1]], want.ranked, "who is ranked, in order")


def check_figures():
    same([row[2:] for row in load_table(out)[1]], want.figures, "counts and sums")


def check_bytes():
    same_rows(load_lines(out), want.lines, "the lines of " + out)
