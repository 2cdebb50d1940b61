"""What a Dockerfile puts where, as far as reading it can tell."""

import pytest

from agents.embedded.foreign.dockerfile import parse, with_line

CONTEXT = ["app.py", "data/a.csv", "data/deep/b.csv", "notes.txt", "Dockerfile"]


@pytest.mark.parametrize(
    ("lines", "placed"),
    [
        ("COPY app.py /app/main.py", {"app.py": "/app/main.py"}),
        ("COPY app.py /app/", {"app.py": "/app/app.py"}),
        ("WORKDIR /app\nCOPY app.py .", {"app.py": "/app/app.py"}),
        ("WORKDIR /app\nCOPY app.py /app", {"app.py": "/app/app.py"}),
        ("WORKDIR /srv\nWORKDIR app\nCOPY app.py x/", {"app.py": "/srv/app/x/app.py"}),
        ("COPY data /app/data", {"data/a.csv": "/app/data/a.csv", "data/deep/b.csv": "/app/data/deep/b.csv"}),
        ("COPY ./data/ /app/", {"data/a.csv": "/app/a.csv", "data/deep/b.csv": "/app/deep/b.csv"}),
        ("COPY data/*.csv /d/", {"data/a.csv": "/d/a.csv", "data/deep/b.csv": "/d/b.csv"}),
        ('COPY ["app.py", "notes.txt", "/x y/"]', {"app.py": "/x y/app.py", "notes.txt": "/x y/notes.txt"}),
        ("COPY app.py \\\n  notes.txt \\\n  /x/", {"app.py": "/x/app.py", "notes.txt": "/x/notes.txt"}),
        ("COPY app.py /a/\nFROM debian\nCOPY notes.txt /b/", {"notes.txt": "/b/notes.txt"}),
        ("COPY --from=other /x /app.py", {}),
        ("ENV HOME=/h\nADD --chown=7 notes.txt ${HOME}/", {"notes.txt": "/h/notes.txt"}),
        ("# COPY app.py /a\n", {}),
    ],
)
def test_copied_files(lines, placed):
    assert parse(f"FROM debian\n{lines}\n").placed(CONTEXT) == placed


def test_everything_copied():
    placed = parse("FROM debian\nCOPY . /app\n").placed(CONTEXT)
    assert placed["data/deep/b.csv"] == "/app/data/deep/b.csv"


def test_user_workdir_and_owner():
    found = parse("FROM a\nUSER root\nWORKDIR /x\nCOPY --chown=ann:staff app.py y/\nUSER ann\nRUN make \\\n  all\n")
    assert (found.user, found.workdir, found.copies[0].owner, found.runs) == (
        "ann",
        "/x",
        "ann:staff",
        ("make    all",),
    )


def test_a_line_goes_to_the_end():
    assert with_line("FROM a\nUSER ann", "COPY x /x").endswith("USER ann\n\nCOPY x /x\n")
