out = "/app/out/s1-quarantine.json"
want = expected("s1")


def check_shape():
    has_keys(load_json(out), ["good", "bad", "by_reason", "worst_file", "line_sum", "lines"], out)


def check_counts():
    result = load_json(out)
    same(result["good"], want.good, "good")
    same(result["bad"], want.bad, "bad")


def check_reasons():
    same(load_json(out)["by_reason"], want.by_reason, "by_reason")


def check_worst_file():
    same(load_json(out)["worst_file"], want.worst_file, "worst_file")


def check_lines():
    same_rows(load_json(out)["lines"], want.lines, "lines")
    same(load_json(out)["line_sum"], want.line_sum, "line_sum")
