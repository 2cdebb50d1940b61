"""Image builders of other makers: the real Docker daemon and a real Buildah, where there are any."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.image.engines import CommandEngine, _failure, build_by_any
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes

DEBIAN = Path(__file__).parents[3] / ".outside" / "debian"
LISTING = (
    "cd / && find . -xdev \\( -path ./proc -o -path ./dev -o -path ./sys -o -path ./tmp -o -name .dockerenv "
    "-o -path './etc/*-' -o -path ./etc/.pwd.lock -o -path ./etc/hosts -o -path ./etc/hostname -o -path ./etc/resolv.conf \\) -prune -o -type d -printf 'd %m %U %G %p\\n' -o -printf '%y %m %U %G %n %l %p\\n' | sort; "
    "cd / && find srv etc home opt -xdev -type f ! -name '*-' ! -name 'shadow*' ! -name 'host*' ! -name resolv.conf -exec sha256sum {} + | sort"
)


def write(root: Path, files: dict[str, str], toml: str = "") -> Task:
    plain = {
        "task.toml": f'schema_version = "1.4"\n[task]\nname = "tests/small"\n{toml}',
        "instruction.md": "Nothing.\n",
        "solution/solve.sh": "#!/bin/bash\n",
        "tests/test.sh": "#!/bin/bash\n",
        **{f"environment/{path}": content for path, content in files.items()},
    }
    for path, content in plain.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return Task.read(root)


async def test_every_builder_that_was_tried_is_named_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def never(_engine: object) -> Any:
        pytest.fail("nobody is asked to build")

    monkeypatch.setenv("PATH", "/nowhere")
    names = ("bubblewrap", "docker", "buildah", "podman")
    with pytest.raises(UnsupportedTaskError) as caught:
        await build_by_any(names, never, tmp_path / "image.tar", UnsupportedTaskError("line 3 needs a builder"))
    assert str(caught.value) == (
        "line 3 needs a builder\nImage builders tried:\n"
        "  docker: no program docker (Debian: apt install docker.io)\n"
        "  buildah: no program buildah (Debian: apt install buildah)\n"
        "  podman: no program podman (Debian: apt install podman)"
    )


async def test_a_builder_that_does_not_work_is_passed_over(tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho Cannot connect to the Docker daemon >&2\nexit 1\n")
    program.chmod(0o755)
    missing = await CommandEngine("docker", str(program)).missing()
    assert missing == f"{program} does not work here: Cannot connect to the Docker daemon"


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("dial tcp: no such host\nThe command '/bin/sh -c apt-get update' returned a non-zero code: 100", ImageError),
        ('ERROR: process "/bin/sh -c curl x" did not complete successfully: exit code: 6', ImageError),
        ("COPY failed: file not found in build context or excluded by .dockerignore: stat x: not there", ImageError),
        ("the --chmod option requires BuildKit. Refer to somewhere", SandboxError),
        ('error building at STEP "RUN false": while running runtime: exit status 1', ImageError),
        ("Error response from daemon: pull access denied for nothing/like-it", SandboxError),
        ("Get https://registry/v2/: dial tcp: lookup registry: no such host", SandboxError),
        ("write /var/lib/x: no space left on device", SandboxError),
        ("ERROR: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", SandboxError),
    ],
)
def test_whose_fault_it_is(end: str, kind: type[SandboxError]) -> None:
    failure = _failure("docker", f"Step 1\n{end}\n")
    assert type(failure) is kind
    assert end in str(failure)


@pytest_asyncio.fixture(loop_scope="session")
async def backend(sandboxes: Sandboxes, tmp_path: Path) -> AsyncIterator[Callable[..., BubblewrapBackend]]:
    """Makes back ends on the Debian root that build with one builder; removes what that built."""
    if not DEBIAN.is_dir():
        pytest.skip("no Debian root in .outside/debian (./run prepare makes one)")
    made: list[tuple[BubblewrapBackend, str]] = []

    async def make(engine: str, **options: Any) -> BubblewrapBackend:
        missing = "" if engine == "bubblewrap" else await CommandEngine(engine).missing()
        if missing:
            pytest.skip(missing)
        made.append(
            (BubblewrapBackend(base=(f"*={DEBIAN}",), state=tmp_path / engine, engines=(engine,), **options), engine)
        )
        return made[-1][0]

    yield make
    for one, engine in made:
        keys = [path.stem for path in (tmp_path / engine).glob("store/images/*.json")]
        await one.close()
        for key in keys if engine != "bubblewrap" else ():
            command = f"{engine} images --quiet --filter label=envolve.image={key} | xargs -r {engine} rmi --force"
            await asyncio.to_thread(subprocess.run, ["sh", "-c", command], check=False, capture_output=True)


@pytest.fixture(scope="module", autouse=True)
def _clean_builders() -> Iterator[None]:
    """Takes the Debian root out of the builders again, where nobody else uses it."""
    yield
    for engine in ("docker", "buildah", "podman"):
        if shutil.which(engine):
            listed = f"{engine} images --quiet --filter reference=localhost/envolve-base"
            subprocess.run(["sh", "-c", f"{listed} | xargs -r {engine} rmi"], check=False, capture_output=True)


async def run(backend: BubblewrapBackend, task: Task, command: str) -> str:
    sandbox: Sandbox = await backend.start(await backend.build(task))
    result = await sandbox.exec(command)
    await sandbox.stop()
    return result.text + result.error_text


STAGES = {
    "Dockerfile": (
        "FROM debian:12 AS first\nWORKDIR /src\nCOPY . .\nRUN echo built > out && chown 3:4 out && mkfifo pipe\n"
        "FROM debian:12\nENV A=1\nCOPY --from=first /src/out /src/Dockerfile /final/\n"
        "RUN rm -rf /usr/share/doc && mkdir -p /usr/share/doc/new && rm /etc/hostname; ln /final/out /final/hard\n"
        "WORKDIR /final\nUSER nobody\n"
    ),
    "ignored": "x",
    ".dockerignore": "ignored\n",
}


@pytest.mark.outside
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["docker", "buildah", "podman"])
async def test_stages(backend: Callable[..., Any], tmp_path: Path, engine: str) -> None:
    one = await backend(engine)
    task = write(tmp_path / "task", STAGES)
    image = await one.build(task)
    assert (image.workdir, image.user, image.env["A"]) == ("/final", "nobody", "1")
    assert image.base.startswith("dir:")
    said = await run(
        one,
        task,
        "id -un; cat out; stat -c '%u %g %h' out; ls /usr/share/doc; date -u -r Dockerfile +%F; cat Dockerfile",
    )
    assert said == "nobody\nbuilt\n3 4 2\nnew\n2025-01-01\n" + STAGES["Dockerfile"]
    before = time.monotonic()
    assert await one.build(task) == image
    assert time.monotonic() - before < 5
    # A machine without any builder finds it in the store.
    without = BubblewrapBackend(base=(f"*={DEBIAN}",), state=tmp_path / engine, engines=())
    try:
        assert await without.build(task) == image
    finally:
        await without.close()


@pytest.mark.outside
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["docker", "buildah"])
async def test_a_sandbox_builds_what_a_builder_builds(backend: Callable[..., Any], tmp_path: Path, engine: str) -> None:
    files = {
        "Dockerfile": (
            "FROM debian:12\nARG WHO=me\nWORKDIR /srv/app\nCOPY a b/\nCOPY --chown=www-data a c\n"
            "RUN groupadd -g 500 team && useradd -u 500 -g team -m bob && install -o bob -m 4755 a* b/a /opt 2>/dev/null; "
            "echo $WHO > /etc/who && rm -r /usr/share/doc/bash && mv /usr/share/doc/tar /usr/share/doc/moved\n"
            'USER bob\nENV X=1\nRUN ["/bin/sh", "-c", "echo $X $WHO > ~/x; mkdir ~/d; ln ~/x ~/d/hard; ln -s x ~/d/soft"]\n'
        ),
        "a": "A",
    }
    task = write(tmp_path / "task", files)
    listings = [await run(await backend(name), task, LISTING) for name in ("bubblewrap", engine)]
    assert listings[0].count("\n") > 5000
    lines = [set(listing.splitlines()) for listing in listings]
    assert lines[0] ^ lines[1] == set()


@pytest.mark.outside
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["docker", "buildah"])
async def test_a_failing_line_and_a_time_that_is_up(backend: Callable[..., Any], tmp_path: Path, engine: str) -> None:
    one = await backend(engine)
    failing = {"Dockerfile": "FROM debian:12 AS a\nRUN echo it said this; exit 7\nFROM a\n"}
    with pytest.raises(ImageError, match=r"(?s)does not build.*it said this.*7"):
        await one.build(write(tmp_path / "failing", failing))
    mark = str(time.time_ns())
    endless = {"Dockerfile": f"FROM debian:12 AS a\nRUN echo started; sleep 3600.{mark}\nFROM a\n"}
    with pytest.raises(ImageError, match=r"build_timeout_sec.*all of it was killed"):
        await one.build(write(tmp_path / "endless", endless, "[environment]\nbuild_timeout_sec = 8\n"))
    for _ in range(100):
        listed = await asyncio.to_thread(
            subprocess.run, ["ps", "-eo", "args"], capture_output=True, text=True, check=True
        )
        if f"sleep 3600.{mark}" not in listed.stdout:
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the command is still running")
    assert list((tmp_path / engine / "store/aside").iterdir()) == []
