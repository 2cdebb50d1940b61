out = "/app/out/s1-moves-export.txt"
want = expected("s1")


def check_lines():
    lines = load_lines(out)
    same(len(lines), want.count + 1, "the number of lines")
    same(all(len(line.split(";")) == 4 for line in lines), True, "all lines of four fields")


def check_trailer():
    same(load_lines(out)[-1], want.trailer, "the trailer")


def check_fields():
    same_rows(sorted(load_lines(out)[:-1]), want.in_any_order, "the D lines, sorted")


def check_order():
    same_rows(load_lines(out)[:-1], want.in_order, "the D lines")
