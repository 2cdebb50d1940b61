"""Compose files as tasks write them: what is read, and what is refused by name."""

import pytest

from sandbox.docker.composition import read_composition
from sandbox.docker.interpolation import InterpolationError, interpolate
from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.task import Task

TOML = """
[task]
name = "tests/compose"
[environment]
memory_mb = 512
[environment.env]
GREETING = "hello"
"""


@pytest.fixture
def composed(tmp_path):
    """Reads a compose file as that of a task."""

    def read(text: str):
        for path, content in {
            "task.toml": TOML,
            "instruction.md": "Do it.\n",
            "environment/Dockerfile": "FROM debian\n",
            "environment/docker-compose.yaml": text,
            "solution/solve.sh": "true\n",
            "tests/test.sh": "true\n",
        }.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(content)
        return read_composition(Task.read(tmp_path))

    return read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$SET-${SET}", "x-x"),
        ("${UNSET}|$UNSET", "|"),
        ("${UNSET:-a}${EMPTY:-b}${SET:-c}", "abx"),
        ("${UNSET-a}${EMPTY-b}${SET-c}", "ax"),
        ("${UNSET:+a}${EMPTY:+b}${SET:+c}", "c"),
        ("${UNSET+a}${EMPTY+b}${SET+c}", "bc"),
        ("${SET:?no}${SET?no}${EMPTY?no}", "xx"),
        ("${UNSET:-${EMPTY:-${SET}}}/y", "x/y"),
        ("$$SET $${SET}", "$SET ${SET}"),
        ("${UNSET:-}", ""),
        ("a}b", "a}b"),
    ],
)
def test_variables(text, value):
    assert interpolate(text, {"SET": "x", "EMPTY": ""}) == value


@pytest.mark.parametrize(
    "text", ["${UNSET:?why}", "${UNSET?}", "${EMPTY:?}", "${SET", "${}", "$ 5", "${SET/a/b}", "${1}"]
)
def test_variables_that_cannot_be_filled_in(text):
    with pytest.raises(InterpolationError):
        interpolate(text, {"SET": "x", "EMPTY": ""})


def test_a_service_with_all_that_tasks_use(composed):
    found = composed(
        """
version: "3.8"
services:
  api:
    image: postgres:${PG:-16}
    environment: [A=1, "B=${GREETING}", FROM_THIS_MACHINE]
    healthcheck: {test: pg_isready, interval: 1m30s, timeout: 500ms, retries: 5, start_period: 2s}
    mem_limit: 256m
    volumes: ["data:/var/lib/data", "./conf:/etc/conf:ro", /cache]
    networks: {inner: {aliases: [db]}}
    ports: ["5432:5432"]
    ulimits: {nofile: 1024, nproc: {soft: 5, hard: 6}}
    command: postgres -c 'a b'
  main:
    build: {context: ., args: {X: 1}}
    image: ${MAIN_IMAGE_NAME}
    depends_on: {api: {condition: service_healthy}}
    environment: {ON: true, N: 3, EMPTY: null}
    deploy: {resources: {limits: {cpus: "${CPUS}", memory: "${MEMORY}"}}}
    volumes: ["${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}"]
networks: {inner: {driver: bridge}}
volumes: {data: }
"""
    )
    api, main = found.services["api"], found.services["main"]
    assert api.image == "postgres:16"
    assert api.environment == {"A": "1", "B": "hello"}
    assert (api.healthcheck.interval, api.healthcheck.timeout, api.healthcheck.retries) == (90.0, 0.5, 5)
    assert api.memory == 256 << 20
    assert [(m.type, m.source, m.target) for m in api.volumes] == [
        ("volume", "data", "/var/lib/data"),
        ("bind", "./conf", "/etc/conf"),
        ("volume", "", "/cache"),
    ]
    assert api.aliases == ("db",)
    assert api.command == ("postgres", "-c", "a b")
    assert main.environment == {"ON": "true", "N": "3"}
    assert main.build.args == {"X": "1"}
    assert main.memory == 512 << 20
    assert main.volumes == ()
    assert [finding.partition(":")[0] for finding in found.findings] == ["services.api.ports"]
    assert found.order() == ("api", "main")


def test_main_is_there_without_being_named(composed):
    found = composed("services: {redis: {image: redis}}")
    assert set(found.services) == {"redis", "main"}


@pytest.mark.parametrize(
    ("service", "place"),
    [
        ("privileged: true", "services.api.privileged"),
        ("devices: [/dev/kvm]", "services.api.devices"),
        ("network_mode: host", "services.api.network_mode"),
        ("pid: host", "services.api.pid"),
        ("cap_add: [SYS_ADMIN]", "services.api.cap_add"),
        ("security_opt: [seccomp=unconfined]", "services.api.security_opt"),
        ("extra_hosts: ['host.docker.internal:host-gateway']", "services.api.extra_hosts"),
        ("volumes: ['/var/run/docker.sock:/var/run/docker.sock:ro']", "services.api.volumes.0"),
        ("volumes: ['../solution:/s:ro']", "services.api.volumes.0"),
        ("volumes: ['./data:/data']", "services.api.volumes.0"),
        ("volumes: [{type: bind, source: /etc, target: /e, read_only: true}]", "services.api.volumes.0"),
        ("build: {context: ., secrets: [a]}", "services.api.build.secrets"),
        ("deploy: {resources: {reservations: {devices: []}}}", "services.api.deploy.resources.reservations.devices"),
    ],
)
def test_what_tasks_do_not_get_is_refused_with_its_place(composed, service, place):
    with pytest.raises(UnsupportedTaskError, match=place):
        composed(f"services:\n  api:\n    image: a\n    {service}\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("services: {a: {image: x, depends_on: [b]}}", "no service b"),
        ("services: {a: {image: x, depends_on: [b]}, b: {image: x, depends_on: [a]}}", "depend on each other"),
        ("services: {a: {image: x, volumes: ['v:/v']}}", "no volume v"),
        ("services: {a: {image: '${NO_SUCH:?say which}'}}", "services.a.image.*say which"),
        ("services: {a: {image: x, healthcheck: {test: a, interval: soon}}}", "healthcheck.interval"),
        ("services: [a]", "services"),
        ("a: [", "no YAML"),
        ("services: {a: 5}", "services.a"),
    ],
)
def test_a_compose_file_that_is_wrong_says_where(composed, text, told):
    with pytest.raises(ImageError, match=told):
        composed(text)


@pytest.mark.parametrize(
    "text", ["secrets: {a: {file: x}}", "networks: {n: {external: true}}", "volumes: {v: {external: true}}"]
)
def test_things_made_elsewhere_are_refused(composed, text):
    with pytest.raises(UnsupportedTaskError, match="not available to tasks"):
        composed(f"services: {{a: {{image: x}}}}\n{text}\n")
