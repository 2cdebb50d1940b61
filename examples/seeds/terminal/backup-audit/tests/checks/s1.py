out = "/app/out/s1-checksum-audit.json"
want = expected("s1")


def check_shape():
    has_keys(load_json(out), ["intact", "altered", "missing", "unlisted", "seal"], out)


def check_intact():
    same(load_json(out)["intact"], want.intact, "intact")


def check_altered():
    same(load_json(out)["altered"], want.altered, "altered")


def check_missing():
    same(load_json(out)["missing"], want.missing, "missing")


def check_unlisted():
    same(load_json(out)["unlisted"], want.unlisted, "unlisted")


def check_seal():
    same(load_json(out)["seal"], want.seal, "seal")
