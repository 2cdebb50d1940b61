"""Makes the big case: its answers follow from how it is made."""

import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
rng = random.Random(2024)
config, requests, expected = [], [], []
for s in range(10):
    config.append(f"server {{ name s{s}.many.test")
    config.append(f"   *.s{s}.many.test;")
    for k in range(20):
        if k % 4 == 0:
            config.append(f"  location /p{k}/ {{ to prefix-{s}-{k}; }}")
        elif k % 4 == 1:
            config.append(f"  location ~ ^/r{k}/[a-z]+\\.({'x' * (k + 1)}|y)$ {{ to regex-{s}-{k}; }}")
        elif k % 4 == 2:
            config.append(f"  location = /e{k} {{ to exact-{s}-{k}; }}")
        else:
            config.append(f"  location ^~ /p{k - 3}/f {{ to fixed-{s}-{k}; }}")
    config.append("}")
for _ in range(5000):
    s, k = rng.randrange(10), rng.randrange(20)
    host = rng.choice(["", "www.", "A.b."]) + f"S{s}.many.test"
    word = "".join(rng.choice("abcdeghij") for _ in range(rng.randint(1, 9)))
    if k % 4 == 0:
        path, to = f"/p{k}/{word}", f"prefix-{s}-{k}"
    elif k % 4 == 1:
        path, to = rng.choice([(f"/r{k}/{word}.y", f"regex-{s}-{k}"), (f"/r{k}/{word}.yy", "404"), (f"/r{k}/{word}.Y", "404")])
    elif k % 4 == 2:
        path, to = rng.choice([(f"/e{k}?{word}", f"exact-{s}-{k}"), (f"/e{k}{word}", "404")])
    else:
        path, to = f"/p{k - 3}/f{word}", f"fixed-{s}-{k}"
    requests.append(f"{host} {path}")
    expected.append(to)
for name, lines in ("conf", config), ("requests", requests), ("expected", expected):
    (folder / f"many.{name}").write_text("".join(f"{line}\n" for line in lines))
