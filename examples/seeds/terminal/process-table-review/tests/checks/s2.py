out = "/app/out/s2-reach-totals.json"
want = expected("s2")


def check_shape():
    result = load_json(out)
    has_keys(result, ["matched", "total_bytes", "by_group", "largest"], out)


def check_matched():
    result = load_json(out)
    same(result["matched"], want.matched, "matched")
    same(result["total_bytes"], want.total_bytes, "total_bytes")


def check_by_group():
    result = load_json(out)
    same(result["by_group"], want.by_group, "by_group")
    same(sum(part["count"] for part in result["by_group"].values()), want.matched, "the sum of all count")


def check_largest():
    same(load_json(out)["largest"], want.largest, "largest")
