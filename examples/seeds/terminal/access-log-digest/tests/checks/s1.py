out = "/app/out/s1-status-totals.json"
want = expected("s1")


def check_shape():
    result = load_json(out)
    has_keys(result, ["matched", "total_bytes", "by_method", "largest"], out)


def check_matched():
    result = load_json(out)
    same(result["matched"], want.matched, "matched")
    same(result["total_bytes"], want.total_bytes, "total_bytes")


def check_by_method():
    result = load_json(out)
    same(result["by_method"], want.by_method, "by_method")
    same(sum(part["count"] for part in result["by_method"].values()), want.matched, "the sum of all count")


def check_largest():
    same(load_json(out)["largest"], want.largest, "largest")
