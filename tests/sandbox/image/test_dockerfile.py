"""What a Dockerfile comes to, without building it."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.image.bases import Base, BaseMap, canonical, recipe_key, recipe_of
from sandbox.image.dockerfile import read_recipe
from sandbox.image.recipe import DEFAULT_PATH, ImageConfig, Place, Recipe, Run, Unpack
from sandbox.image.stages import Stages
from sandbox.image.words import expand, pairs, words
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Recipe]:
    """Reads a Dockerfile that lies among some files."""

    def recipe(dockerfile: str, files: dict[str, str | bytes] | None = None) -> Recipe:
        return read_recipe(write(tmp_path, {"Dockerfile": dockerfile, **(files or {})}))

    return recipe


def write(root: Path, files: dict[str, str | bytes], toml: str = "") -> Task:
    plain = {
        "task.toml": f'schema_version = "1.4"\n[task]\nname = "tests/small"\n{toml}',
        "instruction.md": "Nothing.\n",
        "solution/solve.sh": "#!/bin/bash\n",
        "tests/test.sh": "#!/bin/bash\n",
        **{f"environment/{path}": content for path, content in files.items()},
    }
    for path, content in plain.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        place.chmod(0o755 if path.endswith(".sh") else 0o644)
    return Task.read(root)


def placed(recipe: Recipe) -> list[tuple[str, str]]:
    """Targets and sources of files, in order."""
    return [(e.target, e.source) for step in recipe.steps if isinstance(step, Place) for e in step.entries if e.sha256]


def test_settings(read: Callable[..., Recipe]) -> None:
    recipe = read(
        "ARG TAG=3.12\nFROM --platform=linux/amd64 python:${TAG}-bookworm AS main\nARG TAG\nARG NAME=x\n"
        "ENV A=1 B=\"two words\" C='$A'\nENV OLD form of $NAME\nENV D=${A:-no}${NOPE:-yes}${A:+set}$TAG\n"
        'LABEL x=y\nWORKDIR /srv\nWORKDIR ${NAME}/deep\nUSER "www-data"\nEXPOSE 80\nCMD ["a", "b"]\nentrypoint sleep 1\n'
        "HEALTHCHECK NONE\nSTOPSIGNAL TERM\nONBUILD RUN false\nVOLUME /data\n"
    )
    assert recipe.image == "python:3.12-bookworm"
    assert recipe.env == {"A": "1", "B": "two words", "C": "$A", "OLD": "form of x", "D": "1yesset3.12"}
    assert recipe.workdir == "/srv/x/deep"
    assert recipe.user == "www-data"


def test_continuations_comments_and_blank_lines(read: Callable[..., Recipe]) -> None:
    recipe = read(
        "# syntax=docker/dockerfile:1\nFROM a\nENV A=1 \\\n  # a comment\n\n  B=2 \\\n\n  C=3\r\nWORKDIR /x\r\n"
    )
    assert recipe.env == {"A": "1", "B": "2", "C": "3"}
    assert recipe.workdir == "/x"


FILES = {"one.txt": "1", "two.txt": "2", "dir/a": "a", "dir/sub/b.py": "b", "run.sh": "#!/bin/sh\n", "with space": "s"}


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("COPY one.txt /x", [("/x", "one.txt")]),
        ("COPY one.txt /x/", [("/x/one.txt", "one.txt")]),
        ("COPY ./one.txt two.txt rel/", [("/w/rel/one.txt", "one.txt"), ("/w/rel/two.txt", "two.txt")]),
        ("COPY *.txt .", [("/w/one.txt", "one.txt"), ("/w/two.txt", "two.txt")]),
        ("COPY dir /d", [("/d/a", "dir/a"), ("/d/sub/b.py", "dir/sub/b.py")]),
        ("COPY dir/ /d/", [("/d/a", "dir/a"), ("/d/sub/b.py", "dir/sub/b.py")]),
        ("COPY d?r/s[t-v]b /d", [("/d/b.py", "dir/sub/b.py")]),
        ('COPY ["with space", "/my dir/"]', [("/my dir/with space", "with space")]),
        ("COPY with\\ space /y", [("/y", "with space")]),
        ("COPY --chown=1:2 --chmod=0600 --link one.txt /x", [("/x", "one.txt")]),
        ("ADD one.txt /x", [("/x", "one.txt")]),
        ("COPY /one.txt /x/../y", [("/y", "one.txt")]),
    ],
)
def test_copy(read: Callable[..., Recipe], copy: str, expected: list[tuple[str, str]]) -> None:
    assert placed(read(f"FROM a\nWORKDIR /w\n{copy}\n", FILES)) == expected


def test_modes_and_owners(read: Callable[..., Recipe]) -> None:
    recipe = read("FROM a\nCOPY run.sh one.txt /x/\nCOPY --chown=www-data:33 --chmod=640 run.sh /y\n", FILES)
    plain, owned = (step for step in recipe.steps if isinstance(step, Place))
    assert [entry.mode for entry in plain.entries] == [0o755, 0o644]
    assert (owned.owner, owned.entries[0].mode) == ("www-data:33", 0o640)


def test_dockerignore(read: Callable[..., Recipe]) -> None:
    ignore = "# no\n*.txt\n!two.txt\n**/*.py\n/run.sh\nDockerfile\n.dockerignore\nwith*\n"
    assert placed(read("FROM a\nCOPY . /c\n", {**FILES, ".dockerignore": ignore})) == [
        ("/c/dir/a", "dir/a"),
        ("/c/two.txt", "two.txt"),
    ]


def test_add_unpacks_archives_and_copy_does_not(read: Callable[..., Recipe]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("member"))
    recipe = read("FROM a\nADD a.tgz /x\nCOPY a.tgz /y\n", {"a.tgz": packed.getvalue()})
    assert isinstance(recipe.steps[0], Unpack)
    assert (recipe.steps[0].source, recipe.steps[0].target) == ("a.tgz", "/x")
    assert placed(recipe) == [("/y", "a.tgz")]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("RUN --mount=type=cache,target=/c make", "RUN --mount"),
        ("RUN --network=none make", "RUN --network"),
        ("RUN <<EOF\n#!/usr/bin/python3\nEOF", "#! line"),
        ("COPY one.txt <<EOF /x/\nhello\nEOF", "here-document beside"),
        ("FROM b", "second stage"),
        ("COPY --from=b /x /y", "--from"),
        ("COPY --parents one.txt /y", "--parents"),
        ("COPY --chmod=u+x one.txt /y", "--chmod"),
        ("ADD https://example.org/x /y", "remote source"),
        ("ADD git@example.org:x.git /y", "remote source"),
    ],
)
def test_what_is_not_supported_is_named_with_its_line(read: Callable[..., Recipe], line: str, names: str) -> None:
    with pytest.raises(UnsupportedTaskError, match=rf"environment/Dockerfile:3: .*{names}.*buildah.*docker back end"):
        read(f"FROM a\n\n{line}\n", FILES)


@pytest.mark.parametrize(
    ("dockerfile", "says"),
    [
        ("FROM a\nCOPY missing.txt /x\n", "2: COPY: 'missing.txt' is not in the build context"),
        ("FROM a\nCOPY ../task.toml /x\n", "leaves the build context"),
        ("FROM a\nCOPY one.txt\n", "needs a source and a target"),
        ("FROM a\nCOPY one.txt two.txt /x\n", "several sources"),
        ("COPY one.txt /x\nFROM a\n", "1: COPY: comes before FROM"),
        ("FROM a\nRUNN x\n", "2: RUNN: no such instruction"),
        ("FROM\n", "is not IMAGE"),
        ("FROM a b\n", "is not IMAGE"),
        ("FROM ${NOPE}\n", "is not IMAGE"),
        ("# nothing\n", "no FROM"),
        ('FROM a\nENV A="x\n', "never closed"),
        ("FROM a\nENV A=1 B\n", "not NAME=value"),
        ("FROM a\nENV A\n", "has no value"),
        ("FROM a\nENV A=${B##x}\n", "substitution"),
        ("FROM a\nSHELL bash\n", "needs the form"),
        ("FROM a\nRUN\n", "has no command"),
    ],
)
def test_what_is_wrong_is_the_tasks_fault(read: Callable[..., Recipe], dockerfile: str, says: str) -> None:
    with pytest.raises(ImageError, match=says.replace("$", r"\$")):
        read(dockerfile, FILES)


def runs(recipe: Recipe) -> list[Run]:
    return [step for step in recipe.steps if isinstance(step, Run)]


def test_a_command_runs_as_its_line_stands(read: Callable[..., Recipe]) -> None:
    recipe = read(
        "FROM a\nARG V=1\nENV A=2\nRUN echo $V   \\\n  && echo '$A'\nWORKDIR /w\nUSER bob\nARG A=3\n"
        'SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN false | true\nRUN ["a", "$V"]\nRUN [ -e /x ]\nENV A=4\n'
    )
    first, second, third, fourth = runs(recipe)
    assert first.command == ("/bin/sh", "-c", "echo $V     && echo '$A'")
    assert (first.line, first.workdir, first.user) == (4, "/", "")
    assert first.env == {"PATH": DEFAULT_PATH, "V": "1", "A": "2"}
    assert second.command == ("/bin/bash", "-o", "pipefail", "-c", "false | true")
    assert (second.workdir, second.user, second.env["A"]) == ("/w", "bob", "2")  # ENV beats ARG
    assert third.command == ("a", "$V")
    assert fourth.command[-1] == "[ -e /x ]"
    assert recipe.runs
    assert recipe.env == {"A": "4"}


def test_here_documents(read: Callable[..., Recipe]) -> None:
    recipe = read(
        "FROM a\nENV A=x\nRUN <<EOF\n\n# kept\necho $A\nEOF\nRUN cat <<-'ONE' >/f && cat <<TWO\n\t$A\n\tONE\nRUN no\nTWO\n"
        'COPY --chmod=700 <<a.sh <<"b" /d/\n#!/bin/sh\necho "$A" \\$A\na.sh\n$A\nb\nRUN echo $((1<<2))\n'
    )
    whole, within, plain = runs(recipe)
    assert whole.command[-1] == "\n# kept\necho $A\n"
    assert within.command[-1] == "cat <<-'ONE' >/f && cat <<TWO\n$A\nONE\nRUN no\nTWO"
    assert plain.command[-1] == "echo $((1<<2))"
    (place,) = (step for step in recipe.steps if isinstance(step, Place))
    written = {entry.target: (entry.mode, place.texts[entry.source]) for entry in place.entries}
    assert written == {"/d/a.sh": (0o700, '#!/bin/sh\necho "x" $A\n'), "/d/b": (0o700, "$A\n")}
    with pytest.raises(ImageError, match=r"Dockerfile:2: the here-document <<EOF has no end"):
        read("FROM a\nRUN <<EOF\necho\n")


def test_what_the_base_says_comes_first(tmp_path: Path) -> None:
    task = write(tmp_path, {"Dockerfile": "FROM a\nENV PATH=/x:$PATH B=$A\nWORKDIR sub\n"})
    config = ImageConfig({"A": "base", "PATH": "/p"}, "/w", "bob")
    recipe = read_recipe(task, lambda image: config if image == "a" else ImageConfig())
    assert recipe.env == {"A": "base", "PATH": "/x:/p", "B": "base"}
    assert (recipe.workdir, recipe.user) == ("/w/sub", "bob")
    assert read_recipe(task).env["PATH"] == f"/x:{DEFAULT_PATH}"
    with pytest.raises(UnsupportedTaskError, match="ONBUILD"):
        read_recipe(task, lambda _image: ImageConfig(triggers=("RUN x",)))


def test_images_of_stages_are_exchanged_by_name() -> None:
    text = (
        "ARG TAG=1\nFROM --platform=linux/amd64 \\\n  go:${TAG} AS Build\nRUN x\nFROM build AS second\nCOPY --from=tool:2 /a /b\n"
        "FROM scratch\nCOPY --from=0 /a /b\nCOPY --from=second --chown=1 \\\n  /a /b\n"
    )
    stages = Stages(text)
    assert (stages.images, stages.count) == (("go:1", "tool:2"), 3)
    exchanged = stages.with_images({"go:1": "ours:x", "tool:2": "ours:y"})
    assert Stages(exchanged).images == ("ours:x", "ours:y")
    assert "FROM --platform=linux/amd64 ours:x AS Build\n" in exchanged
    assert len(exchanged.splitlines()) == len(text.splitlines())
    assert stages.with_images({}) == text


def test_environments_of_a_task(tmp_path: Path) -> None:
    files = {"Dockerfile": "FROM a\nENV X=1\nWORKDIR /w\nCOPY Dockerfile /d\n"}
    task = write(tmp_path / "a", files, '[environment]\nworkdir = "/other"\nenv = { Y = "${NOT_SET:-2}", X = "3" }\n')
    recipe = recipe_of(task, BaseMap())
    assert (recipe.workdir, dict(recipe.env)) == ("/other", {"X": "3", "Y": "2"})
    ready = write(tmp_path / "b", files, '[environment]\ndocker_image = "ready:1"\n')
    assert recipe_of(ready, BaseMap.parse(["*=host"])).image == "a"
    assert recipe_of(ready, BaseMap.parse(["ready:1=host"])) == Recipe("ready:1")
    compose = write(tmp_path / "c", {**files, "docker-compose.yaml": "services: {}\n"})
    with pytest.raises(UnsupportedTaskError, match="compose"):
        recipe_of(compose, BaseMap())


def test_base_map(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root.tar").write_bytes(b"")
    bases = BaseMap.parse(
        ["python:3.12-bookworm=host", f"debian:*={tmp_path}/root", f"docker.io/library/alpine={tmp_path}/root.tar"]
    )
    assert bases.resolve("docker.io/library/python:3.12-bookworm") == Base("host")
    assert bases.resolve("debian:bookworm-slim").kind == "dir"
    assert bases.resolve("alpine:latest").kind == "tar"
    with pytest.raises(UnsupportedTaskError, match=r"--base ubuntu:24.04=DIR .*--base ubuntu:24.04=host"):
        bases.resolve("ubuntu:24.04")
    for wrong, says in (("x", "expected"), ("x=", "expected"), ("x=/no/where", "neither")):
        with pytest.raises(ValueError, match=says):
            BaseMap.parse([wrong])
    assert canonical("localhost:5000/a/b") == "localhost:5000/a/b:latest"
    assert canonical("a@sha256:00") == "a@sha256:00"


def test_a_key_is_of_files_only(read: Callable[..., Recipe]) -> None:
    one, two = read("FROM a\nENV A=1\nCOPY one.txt /x\n", FILES), read("FROM a\nUSER b\nCOPY one.txt /x\n", FILES)
    three = read("FROM a\nCOPY one.txt /x\n", {**FILES, "one.txt": "changed"})
    assert recipe_key(one, "host") == recipe_key(two, "host")
    assert len({recipe_key(one, "host"), recipe_key(three, "host"), recipe_key(one, "other")}) == 3
    lines = ("RUN a", "RUN b", "ENV A=1\nRUN a", "USER b\nRUN a")
    assert len({recipe_key(read(f"FROM a\n{line}\n"), "host") for line in lines}) == len(lines)


@given(
    st.dictionaries(st.from_regex(r"[A-Z_]{1,5}", fullmatch=True), st.text(st.characters(exclude_categories=["Cs"])))
)
def test_quoted_pairs_come_back(values: dict[str, str]) -> None:
    quoted = " ".join(
        name + '="' + value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'
        for name, value in values.items()
    )
    if values:
        assert pairs(quoted, {}) == values


@given(st.text(), st.dictionaries(st.sampled_from(["A", "B"]), st.text()))
def test_words_never_fail_but_for_the_reasons_they_name(text: str, variables: dict[str, str]) -> None:
    try:
        assert all(isinstance(word, str) for word in words(text, variables))
        assert isinstance(expand(text, variables), str)
    except ValueError as error:
        if "quote" not in str(error) and "substitution" not in str(error):
            raise
