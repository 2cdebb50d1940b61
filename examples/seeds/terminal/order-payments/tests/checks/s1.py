out = "/app/out/s1-reconciliation.json"
want = expected("s1")


def check_shape():
    result = load_json(out)
    has_keys(result, ["agreeing", "differing", "unanswered", "unknown", "gap"], out)
    for entry in result["differing"]:
        has_keys(entry, ["order_no", "cents", "paid_cents"], "an entry of differing")


def check_agreeing():
    same(load_json(out)["agreeing"], want.agreeing, "agreeing")


def check_differing():
    entries = [[e["order_no"], e["cents"], e["paid_cents"]] for e in load_json(out)["differing"]]
    same_rows(entries, want.differing, "differing")
    same(load_json(out)["gap"], want.gap, "gap")


def check_one_sided():
    same_rows(load_json(out)["unanswered"], want.unanswered, "unanswered")
    same_rows(load_json(out)["unknown"], want.unknown, "unknown")
