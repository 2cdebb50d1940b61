import json

BACKLINKS = {
    "2025/heron": [],
    "2025/mink": ["otters"],
    "mill": ["weir"],
    "otters": ["2025/mink", "weir"],
    "weir": ["mill", "otters"],
}
BROKEN = "2025/heron\tnowhere\n2025/mink\tcode\n"

with open("/app/index/backlinks.json") as stream:
    assert json.load(stream) == BACKLINKS, "backlinks differ"
with open("/app/index/broken.txt") as stream:
    assert stream.read() == BROKEN, "broken links differ"
