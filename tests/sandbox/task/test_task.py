"""Reading, refusing, hashing and writing task folders."""

import os
import shutil
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.errors import TaskError
from sandbox.task import Task
from sandbox.task import files as task_files

FOREIGN = Path(__file__).parents[2] / "data" / "foreign"

MINIMAL: dict[str, bytes] = {
    "task.toml": b'schema_version = "1.4"\n\n[task]\nname = "demo/copy"  # as in the registry\n\n[agent]\ntimeout_sec = 60\n',
    "instruction.md": b"Copy `/app/a` to `/app/b`.\n",
    "environment/Dockerfile": b"FROM debian:bookworm-slim\nCOPY a /app/a\n",
    "environment/a": b"\x00\xff binary\r\n",
    "solution/solve.sh": b"#!/bin/bash\ncp /app/a /app/b\n",
    "tests/test.sh": b"#!/bin/bash\ncmp /app/a /app/b && echo 1 > /logs/verifier/reward.txt\n",
}
STEPS = b'[[steps]]\nname = "one"\n[[steps]]\nname = "two"\nmin_reward = 0.5\n'
MULTI_STEP: dict[str, bytes] = {
    "task.toml": b'multi_step_reward_strategy = "final"\n' + STEPS,
    "environment/Dockerfile": b"FROM debian:bookworm-slim\n",
    "steps/one/instruction.md": b"First.\n",
    "steps/one/tests/test.sh": b"#!/bin/bash\n",
    "steps/one/solution/solve.sh": b"#!/bin/bash\n",
    "steps/two/instruction.md": b"Second.\n",
    "steps/two/tests/test.sh": b"#!/bin/bash\n",
    "steps/two/solution/solve.sh": b"#!/bin/bash\n",
}


def make(root: Path, files: dict[str, bytes] = MINIMAL, **changes: bytes | None) -> Path:
    """A task folder; `changes` (with `__` for the slash) replace files, None removes one."""
    for path, content in {**files, **{name.replace("__", "/"): content for name, content in changes.items()}}.items():
        if content is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    for script in root.rglob("*.sh"):
        script.chmod(0o755)
    return root


def refusal(root: Path) -> TaskError:
    with pytest.raises(TaskError) as caught:
        Task.read(root)
    return caught.value


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def found(task: Task) -> set[tuple[str, str]]:
    return {(finding.file, finding.field) for finding in task.findings}


class TestReading:
    def test_a_minimal_task(self, tmp_path):
        task = Task.read(make(tmp_path / "copy"))
        assert task.name == "demo/copy"
        assert task.config.agent.timeout_sec == 60.0
        assert task.instruction == "Copy `/app/a` to `/app/b`.\n"
        assert [(step.name, step.folder, step.config) for step in task.steps] == [("main", "", None)]
        assert not task.is_multi_step
        assert task.findings == ()
        assert task.evolution == {}
        assert [file.path for file in task.files] == sorted(MINIMAL)

    def test_files_can_be_asked_for(self, tmp_path):
        task = Task.read(make(tmp_path / "copy", environment__deep__er__x=b"x"))
        assert [file.path for file in task.under("environment/")] == [
            "environment/Dockerfile",
            "environment/a",
            "environment/deep/er/x",
        ]
        assert [file.path for file in task.under("environment/a")] == ["environment/a"]
        assert task.under("env") == ()
        assert len(task.under("")) == len(task.files)
        assert task.has("tests/test.sh")
        assert not task.has("tests")
        assert task.read_bytes("environment/a") == MINIMAL["environment/a"]
        assert [file.path for file in task.files if file.executable] == ["solution/solve.sh", "tests/test.sh"]

    def test_a_folder_without_a_name_is_called_as_the_folder(self, tmp_path):
        assert Task.read(make(tmp_path / "copy-file", **{"task.toml": b""})).name == "copy-file"

    def test_canary_lines_are_stripped(self, tmp_path):
        text = b"<!-- CANARY 1234 -->\n# canary again\n\n# Title\nmentions canary\n"
        assert Task.read(make(tmp_path / "t", **{"instruction.md": text})).instruction == "# Title\nmentions canary\n"

    def test_a_multi_step_task(self, tmp_path):
        task = Task.read(make(tmp_path / "t", MULTI_STEP))
        assert task.is_multi_step
        assert [(step.name, step.folder, step.instruction) for step in task.steps] == [
            ("one", "steps/one", "First.\n"),
            ("two", "steps/two", "Second.\n"),
        ]
        assert task.steps[1].config is not None
        assert task.steps[1].config.min_reward == 0.5
        assert task.instruction == "# Step 1 of 2: one\n\nFirst.\n\n# Step 2 of 2: two\n\nSecond.\n"
        assert task.findings == ()

    def test_a_docker_image_replaces_the_dockerfile(self, tmp_path):
        toml = b'[environment]\ndocker_image = "debian:bookworm"\n'
        assert Task.read(make(tmp_path / "t", environment__Dockerfile=None, **{"task.toml": toml})).findings == ()

    def test_a_compose_file_replaces_the_dockerfile(self, tmp_path):
        changes = {"environment/Dockerfile": None, "environment/docker-compose.yaml": b"services: {}\n"}
        assert Task.read(make(tmp_path / "t", **changes)).has("environment/docker-compose.yaml")

    def test_a_separate_verifier_may_bring_its_tests_in_its_image(self, tmp_path):
        toml = b'[verifier]\nenvironment_mode = "separate"\n'
        changes = {"tests/test.sh": None, "tests/Dockerfile": b"FROM scratch\n", "task.toml": toml}
        assert Task.read(make(tmp_path / "t", **changes)).has("tests/Dockerfile")
        assert refusal(make(tmp_path / "u", **{**changes, "task.toml": b""})).file == "tests/test.sh"

    def test_steps_may_share_the_tests_and_the_solution_at_the_top(self, tmp_path):
        shared = {"tests/test.sh": b"#!/bin/bash\n", "solution/solve.sh": b"#!/bin/bash\n"}
        root = make(tmp_path / "t", MULTI_STEP, **shared)
        shutil.rmtree(root / "steps/two/tests")
        shutil.rmtree(root / "steps/two/solution")
        assert Task.read(root).findings == ()

    def test_a_relative_root_survives_a_change_of_directory(self, tmp_path, monkeypatch):
        make(tmp_path / "t")
        monkeypatch.chdir(tmp_path)
        task = Task.read(Path("t"))
        monkeypatch.chdir("/")
        assert task.read_text("instruction.md")

    def test_a_changed_file_is_noticed(self, tmp_path):
        task = Task.read(make(tmp_path / "t"))
        (task.root / "environment/a").write_bytes(b"other")
        with pytest.raises(TaskError, match=r"environment/a: has changed since the task was read"):
            task.read_bytes("environment/a")
        with pytest.raises(TaskError, match=r"environment/a: has changed"):
            task.write(tmp_path / "u")
        assert names(tmp_path) == ["t"]

    @pytest.mark.parametrize(
        ("path", "hint"), [("tests", "folder"), ("tests/none", "no such file"), ("../x", "no such")]
    )
    def test_what_cannot_be_read_is_named(self, tmp_path, path, hint):
        with pytest.raises(TaskError, match=hint) as caught:
            Task.read(make(tmp_path / "t")).read_bytes(path)
        assert caught.value.file == path

    @pytest.mark.parametrize("name", sorted(path.name for path in FOREIGN.iterdir()))
    def test_foreign_tasks(self, name, tmp_path):
        task = Task.read(FOREIGN / name)
        assert task.name == f"corpus/{name}"
        copy = task.write(tmp_path / "copy")
        assert Task.read(tmp_path / "copy") == copy
        assert copy.content_hash == task.content_hash


class TestFindings:
    def test_missing_solution(self, tmp_path):
        assert found(Task.read(make(tmp_path / "t", **{"solution/solve.sh": None}))) == {("solution/solve.sh", "")}

    def test_root_instruction_beside_steps(self, tmp_path):
        task = Task.read(make(tmp_path / "t", MULTI_STEP, **{"instruction.md": b"Ignored.\n"}))
        assert found(task) == {("instruction.md", "")}
        assert "Ignored" not in task.instruction

    def test_a_step_folder_without_table(self, tmp_path):
        task = Task.read(make(tmp_path / "t", MULTI_STEP, **{"steps/three/instruction.md": b"Third.\n"}))
        assert found(task) == {("steps/three", "")}
        assert "'three'" in task.findings[0].message
        assert "[[steps]]" in task.findings[0].message

    def test_an_empty_folder(self, tmp_path):
        (make(tmp_path / "t") / "environment/empty/er").mkdir(parents=True)
        task = Task.read(tmp_path / "t")
        assert found(task) == {("environment/empty/er", "")}
        assert (task.write(tmp_path / "u").root / "environment/empty/er").is_dir()

    def test_crlf_in_a_script_of_the_environment(self, tmp_path):
        assert found(Task.read(make(tmp_path / "t", **{"environment/broken.sh": b"echo\r\n"}))) == {
            ("environment/broken.sh", "")
        }

    def test_a_dangling_link(self, tmp_path):
        (make(tmp_path / "t") / "environment/link").symlink_to("later")
        assert found(Task.read(tmp_path / "t")) == {("environment/link", "")}

    def test_the_folders_own_repository_is_left_out(self, tmp_path):
        root = make(tmp_path / "t", **{".git/HEAD": b"ref: refs/heads/main\n", "environment/repo/.git/HEAD": b"x"})
        task = Task.read(root)
        assert found(task) == {(".git", "")}
        assert not task.under(".git")
        assert task.has("environment/repo/.git/HEAD")


class TestRefusals:
    """Every bad folder is refused with the file, and a message that says what to do."""

    @pytest.mark.parametrize(
        ("path", "content", "hint"),
        [
            ("instruction.md", None, "missing: write what the solver is asked to do"),
            ("instruction.md", b" \n", "is empty"),
            ("instruction.md", b"<!-- canary -->\n\n", "is empty"),
            ("instruction.md", b"caf\xe9 au lait", "not UTF-8: byte 0xe9 at offset 3; convert it"),
            ("instruction.md", b"x" * ((1 << 20) + 1), "larger than 1,048,576 bytes"),
            (
                "environment/Dockerfile",
                None,
                "missing: add a Dockerfile or docker-compose.yaml, or set .* docker_image",
            ),
            ("tests/test.sh", None, "missing: write a script that .* /logs/verifier/reward.txt or reward.json"),
            ("tests/test.sh", b"#!/bin/bash\r\necho\r\n", r"CRLF.*`sed -i 's/\\r\$//' tests/test.sh`"),
            ("solution/solve.sh", b"echo\r\n", r"CRLF.*`sed -i 's/\\r\$//' solution/solve.sh`"),
            ("task.toml", None, "missing in .*: every task has one"),
            ("task.toml", b"[agent\n", r"not valid TOML: .*\(at line 1, column 7\)"),
            ("task.toml", b"x = [1,\n", r"not valid TOML: .*\(at line 2, column 1: end of document\)"),
            ("task.toml", b"a = 1\na = 2\n", r"not valid TOML: .*line 2, column 6"),
            ("task.toml", b"a = 'caf\xe9'", "not UTF-8: byte 0xe9 at offset 8"),
            ("task.toml", b"x = " + b"[" * 5000, "not valid TOML: .*nested too deeply"),
            ("task.toml", b"x = " + b"1" * 5000, "not valid TOML: .*digit"),
            ("task.toml", b"#" * ((1 << 20) + 1), "larger than 1,048,576 bytes"),
        ],
    )
    def test_a_bad_file(self, tmp_path, path, content, hint):
        error = refusal(make(tmp_path / "t", **{path: content}))
        assert error.file == path
        with pytest.raises(TaskError, match=hint):
            raise error

    def test_crlf_across_two_chunks(self, tmp_path):
        script = b"#" * (task_files.CHUNK - 1) + b"\r\n"
        assert refusal(make(tmp_path / "t", **{"tests/test.sh": script})).file == "tests/test.sh"

    def test_a_missing_folder(self, tmp_path):
        error = refusal(tmp_path / "none")
        assert error.file == str(tmp_path / "none")
        assert "does not exist" in str(error)

    def test_a_file_instead_of_a_folder(self, tmp_path):
        error = refusal(make(tmp_path / "t") / "task.toml")
        assert (
            f"is not a folder: a task is a folder with a task.toml; give the folder it lies in, {tmp_path / 't'}"
            in str(error)
        )

    def test_an_empty_folder(self, tmp_path):
        assert "is an empty folder: a task needs task.toml" in str(refusal(tmp_path))

    def test_a_folder_of_tasks(self, tmp_path):
        make(tmp_path / "tasks/first")
        error = refusal(tmp_path / "tasks")
        assert error.file == "task.toml"
        assert "did you mean one of the tasks in it, e.g. first?" in str(error)

    @pytest.mark.parametrize("names", [["task.yaml"], ["run-tests.sh", "solution.sh", "Dockerfile"]])
    def test_terminal_bench_1(self, tmp_path, names):
        for name in names:
            (tmp_path / name).write_text("x")
        message = str(refusal(tmp_path))
        assert "Terminal-Bench 1" in message
        assert "`harbor task migrate`" in message
        assert "may copy tests and solution into the image" in message

    def test_a_step_without_folder(self, tmp_path):
        error = refusal(make(tmp_path / "t", MULTI_STEP, **{"task.toml": STEPS + b'[[steps]]\nname = "three"\n'}))
        assert (error.file, error.field) == ("task.toml", "steps[2].name")
        assert "'three' has no folder: add steps/three/ with instruction.md" in str(error)

    @pytest.mark.parametrize("path", ["steps/two/instruction.md", "steps/two/tests/test.sh"])
    def test_a_step_without_its_parts(self, tmp_path, path):
        error = refusal(make(tmp_path / "t", MULTI_STEP, **{path: None}))
        assert error.file == path
        assert "missing" in str(error)

    def test_step_folders_without_any_table(self, tmp_path):
        error = refusal(make(tmp_path / "t", MULTI_STEP, **{"task.toml": b""}))
        assert error.file == "instruction.md"
        assert "add [[steps]] tables to task.toml" in str(error)

    def test_crlf_in_a_steps_script(self, tmp_path):
        error = refusal(make(tmp_path / "t", MULTI_STEP, **{"steps/one/workdir/setup.sh": b"cd\r\n"}))
        assert error.file == "steps/one/workdir/setup.sh"

    def test_a_sparse_gigabyte_is_refused_unread(self, tmp_path, monkeypatch):
        root = make(tmp_path / "t")
        with (root / "environment/huge.bin").open("wb") as stream:
            stream.truncate(1 << 30)
        monkeypatch.setattr(task_files, "open_plain", lambda *_: pytest.fail("a file was opened"))
        error = refusal(root)
        assert error.file == "environment/huge.bin"
        assert "1,073,741,824 bytes, more than the 256 MiB a file may hold" in str(error)

    def test_many_large_files_are_refused_unread(self, tmp_path, monkeypatch):
        root = make(tmp_path / "t")
        for number in range(5):
            with (root / f"environment/{number}.bin").open("wb") as stream:
                stream.truncate(task_files.MAX_FILE_BYTES)
        monkeypatch.setattr(task_files, "open_plain", lambda *_: pytest.fail("a file was opened"))
        assert "more than 1024 MiB" in str(refusal(root))

    def test_too_many_files(self, tmp_path, monkeypatch):
        monkeypatch.setattr(task_files, "MAX_ENTRIES", 5)
        assert "5 files and folders: is this a task folder?" in str(refusal(make(tmp_path / "t")))

    def test_a_fifo(self, tmp_path):
        os.mkfifo(make(tmp_path / "t") / "tests/pipe")
        error = refusal(tmp_path / "t")
        assert error.file == "tests/pipe"
        assert "is a FIFO (named pipe); a task holds plain files, folders and links only: remove it" in str(error)

    def test_a_socket(self, tmp_path, monkeypatch):
        monkeypatch.chdir(make(tmp_path / "t"))  # the name of a socket may not be long
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("tests/s")
            error = refusal(tmp_path / "t")
        assert error.file == "tests/s"
        assert "is a socket" in str(error)

    def test_a_device(self, tmp_path):
        try:
            os.mknod(make(tmp_path / "t") / "tests/null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
        error = refusal(tmp_path / "t")
        assert error.file == "tests/null"
        assert "is a character device" in str(error)

    @pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "tab\t"])
    def test_a_control_character_in_a_name(self, tmp_path, name):
        (make(tmp_path / "t") / "environment" / name).write_text("x")
        message = str(refusal(tmp_path / "t"))
        assert "holds a newline or another control character; rename it" in message
        assert message.isprintable()

    def test_a_name_that_is_not_utf8(self, tmp_path):
        (make(tmp_path / "t") / "environment" / os.fsdecode(b"caf\xe9")).write_text("x")
        error = refusal(tmp_path / "t")
        assert error.file == "environment/caf\\xe9"
        assert "its name is not UTF-8; rename it" in str(error)

    def test_an_unreadable_file(self, tmp_path):
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        (make(tmp_path / "t") / "environment/a").chmod(0)
        error = refusal(tmp_path / "t")
        assert error.file == "environment/a"
        assert "cannot be read" in str(error)

    @pytest.mark.parametrize("path", ["task.toml", "instruction.md"])
    def test_a_link_where_a_plain_file_has_to_be(self, tmp_path, path):
        root = make(tmp_path / "t")
        (root / path).rename(root / "real")
        (root / path).symlink_to("real")
        error = refusal(root)
        assert error.file == path
        assert "plain file" in str(error)


class TestLinks:
    @pytest.mark.parametrize(
        "target", ["/etc/passwd", "../../outside", "../..", "../tests/../../x", "up/../../x", "../../t/tests/test.sh"]
    )
    def test_a_link_that_leaves_is_refused(self, tmp_path, target):
        root = make(tmp_path / "t")
        (root / "environment/up").symlink_to(".")
        (root / "environment/link").symlink_to(target)
        error = refusal(root)
        assert error.file == "environment/link"
        assert f"a symbolic link to {target!r}, which leaves the task folder; copy the file in" in str(error)

    @pytest.mark.parametrize("links", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b/x", "b": "a/x"}])
    def test_links_in_a_circle_are_refused(self, tmp_path, links):
        root = make(tmp_path / "t")
        for name, target in links.items():
            (root / "tests" / name).symlink_to(target)
        error = refusal(root)
        assert error.file == "tests/a"
        assert "leads in a circle" in str(error)

    @pytest.mark.parametrize(
        "links", [{"one/loop": "."}, {"one/loop": "../.."}, {"one/x": "../two", "two/y": "../one"}]
    )
    def test_folders_that_contain_themselves_are_refused(self, tmp_path, links):
        root = make(tmp_path / "t", **{"tests/one/f": b"", "tests/two/f": b""})
        for name, target in links.items():
            (root / "tests" / name).symlink_to(target)
        error = refusal(root)
        assert error.file in {f"tests/{name}" for name in links}
        assert "makes the folder contain itself; remove it" in str(error)

    def test_links_inside_stay_links(self, tmp_path):
        root = make(tmp_path / "t")
        (root / "tests/data").symlink_to("../environment")
        (root / "tests/a").symlink_to("./data/../environment//a")
        task = Task.read(root)
        assert task.findings == ()
        link = next(file for file in task.files if file.path == "tests/a")
        assert link.link == "./data/../environment//a"
        assert task.read_bytes("tests/a") == MINIMAL["environment/a"]
        with pytest.raises(TaskError, match="tests/data: is a link to a folder"):
            task.read_bytes("tests/data")
        copy = task.write(tmp_path / "copy")
        assert next(file for file in Task.read(copy.root).files if file.path == "tests/a").link == link.link
        assert Task.read(copy.root) == copy

    def test_the_hash_covers_the_target_and_that_it_is_a_link(self, tmp_path):
        hashes = set()
        for number, target in enumerate(["a", "./a", "Dockerfile"]):
            (make(tmp_path / str(number)) / "environment/link").symlink_to(target)
            hashes.add(Task.read(tmp_path / str(number)).content_hash)
        hashes.add(Task.read(make(tmp_path / "plain", environment__link=b"a")).content_hash)
        assert len(hashes) == 4


class TestHash:
    def test_it_is_stable_over_releases(self, tmp_path):
        expected = "52d549d34b3a0526f78124644d124dc4450aaf787beb0aace55f9de57ec3995b"
        assert Task.read(make(tmp_path / "t")).content_hash == expected

    def test_place_time_order_and_umask_do_not_count(self, tmp_path):
        first = Task.read(make(tmp_path / "t"))
        reverse = dict(reversed(MINIMAL.items()))
        old = os.umask(0o077)
        try:
            second = Task.read(make(tmp_path / "elsewhere/u", reverse))
        finally:
            os.umask(old)
        os.utime(second.root / "environment/a", (1, 1))
        (second.root / "environment/a").chmod(0o666)
        assert Task.read(second.root).content_hash == first.content_hash

    @pytest.mark.parametrize(
        "change",
        [
            {"environment/b": b""},
            {"environment/a": b""},
            {"environment/a": None, "environment/b": MINIMAL["environment/a"]},
        ],
    )
    def test_paths_and_bytes_count(self, tmp_path, change):
        assert Task.read(make(tmp_path / "t")).content_hash != Task.read(make(tmp_path / "u", **change)).content_hash

    def test_the_run_bit_counts(self, tmp_path):
        before = Task.read(make(tmp_path / "t")).content_hash
        (tmp_path / "t/environment/a").chmod(0o755)
        assert Task.read(tmp_path / "t").content_hash != before


class TestWriting:
    def test_an_exact_copy(self, tmp_path):
        task = Task.read(make(tmp_path / "t"))
        old = os.umask(0o077)
        try:
            copy = task.write(tmp_path / "new/place/u")
        finally:
            os.umask(old)
        assert copy.root == tmp_path / "new/place/u"
        assert {path: (copy.root / path).read_bytes() for path in MINIMAL} == MINIMAL
        assert stat.S_IMODE((copy.root / "tests/test.sh").stat().st_mode) == 0o755
        assert stat.S_IMODE((copy.root / "environment/a").stat().st_mode) == 0o644
        assert stat.S_IMODE((copy.root / "environment").stat().st_mode) == 0o755
        assert Task.read(copy.root) == copy
        assert names(copy.root.parent) == ["u"]

    @pytest.mark.parametrize("kind", ["folder", "file", "link"])
    def test_it_never_overwrites(self, tmp_path, kind):
        task, target = Task.read(make(tmp_path / "t")), tmp_path / "u"
        {"folder": target.mkdir, "file": target.touch, "link": lambda: target.symlink_to("nowhere")}[kind]()
        with pytest.raises(TaskError, match="exists already") as caught:
            task.write(target)
        assert caught.value.file == str(target)
        assert names(tmp_path) == ["t", "u"]

    def test_with_toml_changes_what_is_asked_and_no_other_byte(self, tmp_path):
        task = Task.read(make(tmp_path / "t"))
        edited = task.with_toml(lambda toml: toml["agent"].update(timeout_sec=90), tmp_path / "u")
        assert edited.config.agent.timeout_sec == 90.0
        assert edited.root == tmp_path / "u"
        assert edited.read_bytes("task.toml") == MINIMAL["task.toml"].replace(b"60", b"90")
        assert [f for f in edited.files if f.path != "task.toml"] == [f for f in task.files if f.path != "task.toml"]
        assert task.content_hash == Task.read(task.root).content_hash != edited.content_hash

    def test_with_toml_keeps_windows_line_ends(self, tmp_path):
        toml = MINIMAL["task.toml"].replace(b"\n", b"\r\n")
        task = Task.read(make(tmp_path / "t", **{"task.toml": toml}))
        edited = task.with_toml(lambda doc: doc["agent"].update(timeout_sec=90), tmp_path / "u")
        assert edited.read_bytes("task.toml") == toml.replace(b"60", b"90")

    def test_an_edit_that_breaks_the_task_leaves_nothing_behind(self, tmp_path):
        task = Task.read(make(tmp_path / "t"))
        with pytest.raises(
            TaskError, match=r"task.toml \[agent.timeout_sec\]: came the text 'long', expected a number"
        ):
            task.with_toml(lambda toml: toml["agent"].update(timeout_sec="long"), tmp_path / "u")
        with pytest.raises(KeyError):
            task.with_toml(lambda toml: toml["nothing"].update(x=1), tmp_path / "u")
        assert names(tmp_path) == ["t"]


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1, max_size=12).filter(
    lambda name: name not in {".", ".."} and len(name.encode()) < 200
)
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.tuples(st.binary(max_size=200), st.booleans()), max_size=6
)


class TestProperties:
    @settings(max_examples=40, deadline=None)
    @given(tree=TREES)
    def test_what_is_written_reads_back_the_same(self, tree, tmp_path_factory):
        root = make(tmp_path_factory.mktemp("task") / "t")
        for path, (content, executable) in tree.items():
            target = root / "environment/files" / path
            if target.exists() or any(parent.is_file() for parent in target.parents):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if executable else 0o644)
        task = Task.read(root)
        copy = task.write(root.parent / "copy")
        again = Task.read(copy.root)
        assert again == copy
        assert again.files == task.files
        assert again.content_hash == task.content_hash
        assert all(again.read_bytes(file.path) == task.read_bytes(file.path) for file in task.files)

    @settings(max_examples=60, deadline=None)
    @given(path=st.sampled_from(["task.toml", "instruction.md", "tests/test.sh", "environment/a"]), content=st.binary())
    def test_any_content_is_read_or_refused(self, path, content, tmp_path_factory):
        root = make(tmp_path_factory.mktemp("task") / "t", **{path: content})
        try:
            task = Task.read(root)
        except TaskError as error:
            refused = error.file
        else:
            refused = path if task.read_bytes(path) == content else ""
        assert refused == path

    @settings(max_examples=100, deadline=None)
    @given(
        links=st.dictionaries(
            st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a"]),
            st.lists(st.sampled_from(["a", "b", "d", "e", "..", ".", ""]), min_size=1, max_size=5).map("/".join),
            max_size=4,
        )
    )
    def test_links_are_resolved_as_the_system_does(self, links, tmp_path_factory):
        root = tmp_path_factory.mktemp("links") / "root"
        (root / "d/e").mkdir(parents=True)
        for path, target in links.items():
            if target:
                (root / path).symlink_to(target)
        links = {path: target for path, target in links.items() if target}
        for path in links:
            try:
                ours = task_files.resolve_link(path, links)
            except TaskError:
                # Refusing more than the system would is safe; what it resolves has to be right.
                continue
            assert os.path.realpath(root / path) == os.path.normpath(root / ours)
