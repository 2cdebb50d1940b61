out = "/app/out/s1-baseline-difference.json"
want = expected("s1")


def check_shape():
    has_keys(load_json(out), ["known", "unexpected", "absent", "unexpected_processes", "unexpected_rss_kb", "overlap_permille"], out)


def check_unexpected():
    same_rows(load_json(out)["unexpected"], want.unexpected, "unexpected")


def check_absent():
    same_rows(load_json(out)["absent"], want.absent, "absent")


def check_weight():
    result = load_json(out)
    same(result["unexpected_processes"], want.count, "unexpected_processes")
    same(result["unexpected_rss_kb"], want.total, "unexpected_rss_kb")


def check_overlap():
    result = load_json(out)
    same(result["known"], want.known, "known")
    same(result["overlap_permille"], want.overlap, "overlap_permille")
