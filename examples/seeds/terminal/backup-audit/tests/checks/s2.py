out = "/app/out/s2-latest-files.json"
want = expected("s2")


def check_shape():
    has_keys(load_json(out), ["kept", "superseded", "total_bytes", "by_type", "changed"], out)


def check_kept():
    result = load_json(out)
    same(result["kept"], want.kept, "kept")
    same(result["superseded"], want.superseded, "superseded")


def check_total_bytes():
    same(load_json(out)["total_bytes"], want.total_bytes, "total_bytes")


def check_by_type():
    same(load_json(out)["by_type"], want.by_type, "by_type")


def check_changed():
    same_rows(load_json(out)["changed"], want.changed, "changed")
