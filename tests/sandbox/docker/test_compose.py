"""Tasks of several containers on a real engine: an HTTP server `api`, and `main`, which asks it."""

import asyncio

import pytest

from sandbox.docker import labels
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.protocol import Limits, Network

pytestmark = [pytest.mark.outside, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

LIMITS = Limits(memory_mb=256, processes=64, timeout=60)
DOCKERFILE = "FROM python:3.12-bookworm\nENV FROM_IMAGE=yes\nWORKDIR /app\n"
SERVER = """
import http.server, os, pathlib, time
time.sleep(1)
pathlib.Path("/state/started").write_text(os.environ["GREETING"] + " " + os.environ["SECRET"])
http.server.test(http.server.SimpleHTTPRequestHandler, port=8000)
"""
COMPOSE = """
services:
  setup:
    image: python:3.12-bookworm
    command: sh -c 'echo "made by setup" > /state/first'
    volumes: ["state:/state"]
  api:
    build: {context: api, args: {NAME: arg}}
    env_file: api/settings.env
    environment: ["GREETING=${GREETING:-nobody}"]
    working_dir: /state
    volumes: ["state:/state", "./api/page.txt:/state/page.txt:ro"]
    networks: {default: {aliases: [api.internal]}}
    depends_on: {setup: {condition: service_completed_successfully}}
    healthcheck:
      test: ["CMD", "python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000')"]
      interval: 300ms
      timeout: 10s
      retries: 60
    ports: ["8000:8000"]
  main:
    build: {context: "${CONTEXT_DIR}"}
    image: ${MAIN_IMAGE_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: {MODE: composed}
    hostname: workbench
    depends_on: {api: {condition: service_healthy}}
    volumes: ["${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}"]
volumes: {state: }
"""
FILES = {
    "Dockerfile": DOCKERFILE,
    "docker-compose.yaml": COMPOSE,
    "api/Dockerfile": "FROM python:3.12-bookworm\nARG NAME\nRUN echo $NAME >/name\nCOPY server.py /\n"
    'CMD ["python3", "/server.py"]\n',
    "api/server.py": SERVER,
    "api/settings.env": "# settings\nSECRET='quiet'\nGREETING=unheard\n",
    "api/page.txt": "a page of the task\n",
}
TOML = '[environment.env]\nGREETING = "hello"\n'
GET = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"


@pytest.fixture
async def compose_image(backend, write_task):
    return await backend.build(write_task(FILES, TOML))


async def ask(sandbox, url):
    return await sandbox.exec(["python3", "-c", GET, url])


def of_this_project(engine, sandbox):
    """What the engine has of a sandbox: containers, volumes, networks."""
    mine = {"label": f"{labels.OWNER}={labels.owner()}"}
    containers = [c.name for c in engine.containers.list(all=True, filters=mine) if c.name.startswith(sandbox.id)]
    volumes = [v.name for v in engine.volumes.list(filters=mine) if v.name.startswith(sandbox.id)]
    networks = [n.name for n in engine.networks.list(filters={"label": [*mine.values(), f"{labels.KIND}=compose"]})]
    return containers, volumes, networks


async def test_main_reaches_its_service_and_nothing_is_left_when_it_stops(backend, engine, compose_image):
    sandbox = await backend.start(compose_image, limits=LIMITS)
    try:
        assert (await ask(sandbox, "http://api:8000/first")).text.strip() == "made by setup"
        assert (await ask(sandbox, "http://api.internal:8000/page.txt")).text.strip() == "a page of the task"
        assert (await ask(sandbox, "http://api:8000/started")).text.strip() == "hello quiet"
        told = await sandbox.exec("echo $MODE $FROM_IMAGE $GREETING $PWD $(cat /etc/hostname)")
        assert told.text.split() == ["composed", "yes", "hello", "/app", "workbench"]
        outside = await sandbox.exec(["python3", "-c", "import socket; socket.create_connection(('1.1.1.1', 53), 3)"])
        assert not outside.ok
        containers, volumes, networks = of_this_project(engine, sandbox)
        assert sorted(containers) == [sandbox.id, f"{sandbox.id}-api", f"{sandbox.id}-setup"]
        assert volumes == [f"{sandbox.id}-state"]
        assert len(networks) == 1
        api = engine.containers.get(f"{sandbox.id}-api").attrs
        assert not api["HostConfig"]["PortBindings"]
        assert api["HostConfig"]["Memory"] == 256 << 20
    finally:
        await sandbox.stop()
    assert of_this_project(engine, sandbox) == ([], [], [])


async def test_two_sandboxes_of_one_task_do_not_meet(backend, compose_image):
    first, second = await asyncio.gather(*(backend.start(compose_image, limits=LIMITS) for _ in range(2)))
    try:
        await first.exec("echo mine > /app/mine")
        address = (await first.exec("hostname -i")).text.strip()
        await first.exec("nohup python3 -m http.server 8001 >/dev/null 2>&1 & sleep 1")
        assert (await ask(first, f"http://{address}:8001/mine")).text.strip() == "mine"
        assert not (await ask(second, f"http://{address}:8001/mine")).ok
        assert (await ask(second, "http://api:8000/first")).ok
    finally:
        await asyncio.gather(first.stop(), second.stop())


async def test_an_allowlist_holds_for_the_whole_project_and_not_between_its_services(backend, compose_image):
    sandbox = await backend.start(compose_image, limits=LIMITS, network=Network("allowlist", ("files.example",)))
    try:
        assert (await ask(sandbox, "http://api:8000/first")).ok
        refused = await ask(sandbox, "http://other.example/")
        assert "403" in refused.error_text
    finally:
        await sandbox.stop()


async def test_a_command_of_main_runs_beside_the_sandbox(backend, write_task):
    compose = "services: {main: {command: [python3, -m, http.server, '8000'], working_dir: /etc}}"
    image = await backend.build(write_task({"Dockerfile": DOCKERFILE, "docker-compose.yaml": compose}))
    sandbox = await backend.start(image, limits=LIMITS)
    try:
        found = await sandbox.exec(
            'for n in $(seq 100); do python3 -c "$0" http://127.0.0.1:8000/passwd 2>/dev/null && exit; sleep 0.1; done'.replace(
                "$0", GET.replace('"', "'")
            )
        )
        assert "root:" in found.text
    finally:
        await sandbox.stop()


async def test_services_that_depend_on_main_start_once_it_is_there(backend, write_task):
    compose = """
services:
  main: {healthcheck: {test: test -e /etc/passwd, interval: 200ms}}
  follower:
    image: python:3.12-bookworm
    command: python3 -c "import socket; socket.create_server(('', 9000)).accept()"
    depends_on: {main: {condition: service_healthy}}
"""
    image = await backend.build(write_task({"Dockerfile": DOCKERFILE, "docker-compose.yaml": compose}))
    sandbox = await backend.start(image, limits=LIMITS)
    try:
        address = "import socket; print(socket.gethostbyname('follower'))"
        assert (await sandbox.exec(["python3", "-c", address])).text.strip()
    finally:
        await sandbox.stop()


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (
            ("command: sh -c 'echo last words; exit 3'", "service_completed_successfully"),
            "broken ended with status 3(.|\n)*last words",
        ),
        (
            ("command: sleep 60\n    healthcheck: {test: 'echo sick; exit 1', interval: 200ms}", "service_started"),
            "broken is unhealthy.*sick",
        ),
        (("command: sleep 60", "service_healthy"), "broken is waited for to become healthy, but has no healthcheck"),
    ],
)
async def test_a_service_that_does_not_come_up_is_the_task_s_fault_and_leaves_nothing(
    backend, engine, write_task, service, told
):
    service, condition = service
    compose = (
        f"services:\n  broken:\n    image: python:3.12-bookworm\n    {service}\n"
        f"  main:\n    depends_on: {{broken: {{condition: {condition}}}}}\n"
    )
    image = await backend.build(write_task({"Dockerfile": DOCKERFILE, "docker-compose.yaml": compose}))
    with pytest.raises(ImageError, match=told):
        await backend.start(image, limits=LIMITS)
    of_projects = {"label": [f"{labels.OWNER}={labels.owner()}", f"{labels.KIND}=compose"]}
    assert engine.containers.list(all=True, filters=of_projects) == []
    assert engine.networks.list(filters=of_projects) == []


async def test_what_cannot_be_had_is_refused(backend, write_task, compose_image, tmp_path):
    with pytest.raises(UnsupportedTaskError, match="network host"):
        await backend.start(compose_image, limits=LIMITS, network=Network("host"))
    (tmp_path / "outside.txt").write_text("not the task's")
    escaping = write_task(
        {
            "Dockerfile": DOCKERFILE,
            "docker-compose.yaml": "services: {main: {build: {context: ..}}}",
        }
    )
    with pytest.raises(UnsupportedTaskError, match="outside of environment/"):
        await backend.build(escaping)


async def test_an_image_of_another_process_needs_its_services_built_here(backend, compose_image):
    from dataclasses import replace

    with pytest.raises(SandboxError, match="build the task again"):
        await backend.start(replace(compose_image, reference=f"{compose_image.reference}0"), limits=LIMITS)


async def test_volumes_of_a_dead_process_are_swept(backend, engine):
    pid, _, rest = labels.owner().partition("@")
    dead = {**labels.labels_for("compose"), labels.OWNER: f"{pid}@{rest.rpartition(':')[0]}:1"}
    left = engine.volumes.create(labels=dead)
    kept = engine.volumes.create(labels=labels.labels_for("compose"))
    try:
        await backend.sweep()
        names = {volume.name for volume in engine.volumes.list()}
        assert left.name not in names
        assert kept.name in names
    finally:
        kept.remove()
