"""Harbor's `task.toml`: defaults, what is reported and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import TaskError
from sandbox.task.config import TaskConfig, is_host, megabytes
from sandbox.task.toml import parse_config

EVERYTHING = b"""
schema_version = "1.4"
source = "https://example.org"
artifacts = ["/app/out", { source = "/app/log", destination = "log", exclude = ["*.tmp"], service = "main" }]
multi_step_reward_strategy = "final"

[task]
name = "org/name"
version = "1"
description = "d"
authors = [{ name = "A", email = "a@example.org" }]
keywords = ["k"]

[metadata]
anything = { goes = [1, "two", 1979-05-27] }

[agent]
timeout_sec = 1.5
user = "agent"
network_mode = "allowlist"
allowed_hosts = ["example.org", "*.example.org", "10.0.0.0/8", "::1"]

[verifier]
timeout_sec = 5
env = { A = "1" }
user = 0
environment_mode = "separate"
[verifier.environment]
docker_image = "debian"
[[verifier.collect]]
command = "dump"
service = "db"

[environment]
network_mode = "no-network"
build_timeout_sec = 10
docker_image = "debian"
os = "Linux"
cpus = 0.5
memory_mb = 1
storage_mb = 2
gpus = 1
gpu_types = ["T4"]
mcp_servers = [{ name = "m", transport = "stdio", command = "c", args = ["-v"] }]
env = { KEY = "${KEY:-none}" }
skills_dir = "/skills"
workdir = "/srv"
[environment.healthcheck]
command = "true"
interval_sec = 1

[solution]
env = { B = "2" }

[[steps]]
name = "one"
min_reward = 0.5
[steps.agent]
timeout_sec = 3
[[steps]]
name = "two"
min_reward = { reward = 1 }
artifacts = ["/x"]
[steps.healthcheck]
command = "true"
"""


def refusal(toml: str) -> TaskError:
    with pytest.raises(TaskError) as caught:
        parse_config(toml.encode())
    return caught.value


def test_every_field_of_the_format_is_known():
    config, findings = parse_config(EVERYTHING)
    assert findings == ()
    assert config.task is not None
    assert config.task.authors[0].email == "a@example.org"
    assert config.verifier.environment is not None
    assert config.environment.os == "linux"
    assert config.environment.mcp_servers[0].args == ("-v",)
    assert [step.min_reward for step in config.steps] == [0.5, {"reward": 1.0}]


def test_defaults_are_harbors():
    config, findings = parse_config(b"")
    assert findings == ()
    assert config == TaskConfig()
    assert config.schema_version == "1.4"
    assert config.multi_step_reward_strategy is None
    assert (config.agent.timeout_sec, config.agent.user, config.agent.network_mode) == (None, None, None)
    assert (config.verifier.timeout_sec, config.verifier_mode()) == (600.0, "shared")
    environment = config.environment
    assert (environment.network_mode, environment.build_timeout_sec) == ("public", 600.0)
    unset = [environment.cpus, environment.memory_mb, environment.storage_mb, environment.gpus, environment.workdir]
    assert unset == [None] * 5
    health = parse_config(b'[environment.healthcheck]\ncommand = "x"')[0].environment.healthcheck
    assert health is not None
    assert (health.interval_sec, health.timeout_sec, health.start_period_sec, health.retries) == (5.0, 30.0, 0.0, 3)


def test_unknown_keys_are_kept_and_reported():
    toml = b'extra = 1\n[agent]\nspeed = 9\n[verifier.environment]\nfoo = 2\n[[steps]]\nname = "a"\n[steps.agent]\nbar = 3\n'
    config, findings = parse_config(toml)
    assert {finding.field for finding in findings} == {
        "extra",
        "agent.speed",
        "verifier.environment.foo",
        "steps[0].agent.bar",
    }
    assert all(finding.file == "task.toml" and "unknown field" in finding.message for finding in findings)
    assert config.model_extra == {"extra": 1}
    assert config.agent.model_extra == {"speed": 9}


@pytest.mark.parametrize(
    ("toml", "field", "hint"),
    [
        ('schema_version = "7"', "schema_version", "unknown version '7'; read as 1.4 (known: 1.0 to 1.4)"),
        ('version = "1.0"', "version", "write schema_version"),
        ('[environment]\nmemory = "2G"', "environment.memory", "write memory_mb"),
        ("[environment]\nstorage = 2", "environment.storage", "a number here is not read: write storage_mb"),
        ("[environment]\nallow_internet = false", "environment.allow_internet", "write network_mode"),
        ('[agent]\ntimeout_sec = "600"', "agent.timeout_sec", "text '600' read as the number 600.0"),
        ('multi_step_reward_strategy = "mean"', "multi_step_reward_strategy", "no effect without [[steps]]"),
    ],
)
def test_what_is_reported(toml, field, hint):
    _, findings = parse_config(toml.encode())
    assert [finding.field for finding in findings] == [field]
    assert hint in findings[0].message


def test_deprecated_fields_still_count():
    toml = b'[environment]\nmemory = "1.5G"\nstorage = "512m"\nallow_internet = false'
    environment = parse_config(toml)[0].environment
    assert (environment.memory_mb, environment.storage_mb, environment.network_mode) == (1536, 512, "no-network")
    newer = parse_config(b'[environment]\nnetwork_mode = "public"\nallow_internet = false')[0].environment
    assert newer.network_mode == "public"
    assert parse_config(b'version = "1.1"')[0].schema_version == "1.1"


@pytest.mark.parametrize(
    ("toml", "field", "came", "expected"),
    [
        ('[agent]\ntimeout_sec = "soon"', "agent.timeout_sec", "the text 'soon'", "a number"),
        ("[agent]\ntimeout_sec = -1", "agent.timeout_sec", "the number -1", "a number of at least 0"),
        ("[verifier]\ntimeout_sec = nan", "verifier.timeout_sec", "the number nan", "a number of at least 0"),
        ("[agent]\nuser = 1.5", "agent.user", "the number 1.5", "text (in quotes) or a whole number"),
        ("agent = []", "agent", "a list of 0", "a table"),
        ("schema_version = 1.4", "schema_version", "the number 1.4", "text (in quotes)"),
        (
            '[environment]\nnetwork_mode = "off"',
            "environment.network_mode",
            "the text 'off'",
            "one of 'public', 'no-network' or 'allowlist'",
        ),
        ('[environment]\nos = "beos"', "environment.os", "the text 'beos'", "one of 'linux' or 'windows'"),
        ("[environment]\nmemory_mb = 1.5", "environment.memory_mb", "the number 1.5", "a whole number"),
        ('[environment]\ncpus = "two"', "environment.cpus", "the text 'two'", "a whole number or a number"),
        ('[environment]\nmemory = "lots"', "environment.memory", "the text 'lots'", 'a size as "2G"'),
        ('[environment]\nmemory = "1G"\nmemory_mb = 1', "environment", "a table with memory, memory_mb", "to agree"),
        ('[environment]\nallow_internet = "no"', "environment.allow_internet", "the text 'no'", "true or false"),
        ("[environment]\nenv = { A = 1 }", "environment.env.A", "the number 1", "text (in quotes)"),
        ('[environment]\nmcp_servers = [{ name = "x" }]', "environment.mcp_servers[0]", "a table with name", '"url"'),
        ("[environment.healthcheck]\nretries = 1", "environment.healthcheck.command", "is missing", "add it"),
        (
            '[verifier]\nenvironment_mode = "own"',
            "verifier.environment_mode",
            "the text 'own'",
            "one of 'shared' or 'separate'",
        ),
        ('[verifier]\nenvironment_mode = "shared"\n[verifier.environment]', "verifier", "a table", '"separate"'),
        ('[agent]\nallowed_hosts = ["a.b"]', "agent", "a table", 'network_mode = "allowlist"'),
        (
            '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["http://a"]',
            "agent.allowed_hosts",
            "a list of 1",
            "no URLs",
        ),
        ('[task]\nname = "noslash"', "task.name", "the text 'noslash'", '"org/name"'),
        ('[task]\nname = "a/b"\nauthors = ["me"]', "task.authors[0]", "the text 'me'", "a table"),
        ('[task]\nname = "a/b"\nauthors = [{}]', "task.authors[0].name", "is missing", "add it"),
        ("metadata = 3", "metadata", "the number 3", "a table"),
        (
            'multi_step_reward_strategy = "max"',
            "multi_step_reward_strategy",
            "the text 'max'",
            "one of 'mean' or 'final'",
        ),
        ("[[steps]]\nmin_reward = 1", "steps[0].name", "is missing", "add it"),
        ('[[steps]]\nname = "a"\nmin_reward = []', "steps[0].min_reward", "a list", "a number or a table"),
        (
            '[[steps]]\nname = "a"\nmin_reward = { reward = "x" }',
            "steps[0].min_reward.reward",
            "the text 'x'",
            "a number",
        ),
        ('[[steps]]\nname = "../a"', "steps[0].name", "the text '../a'", "the name of one folder under steps/"),
        ('[[steps]]\nname = "a"\n[[steps]]\nname = "A"', "steps", "a list of 2", "'A' comes twice"),
        ('artifacts = [{ source = "/a/../b" }]', "artifacts[0].source", "the text '/a/../b'", 'a path without ".."'),
    ],
)
def test_what_is_refused(toml, field, came, expected):
    error = refusal(toml)
    assert (error.file, error.field) == ("task.toml", field)
    message = str(error)
    assert message.startswith(f"task.toml [{field}]: ")
    assert came in message.partition(", expected ")[0]
    assert expected in message.partition(", expected ")[2]


def test_all_wrong_fields_are_named():
    assert "; also wrong: environment.cpus, verifier" in str(
        refusal("verifier = 1\nagent = 2\n[environment]\ncpus = []")
    )


def test_verifier_mode_of_a_step_beats_the_tasks():
    config, _ = parse_config(
        b'[verifier]\nenvironment_mode = "separate"\n[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'
        b'[steps.verifier]\nenvironment_mode = "shared"\n'
    )
    assert [config.verifier_mode(step) for step in config.steps] == ["separate", "shared"]


@pytest.mark.parametrize(
    ("size", "expected"), [("2G", 2048), (" 1.5 g ", 1536), ("100K", 0), ("2", None), ("-1G", None)]
)
def test_sizes(size, expected):
    assert megabytes(size) == expected


@pytest.mark.parametrize(
    "host", ["example.org", "*.example.org", "Example.ORG.", "192.0.2.1", "192.0.2.0/24", "2001:db8::1"]
)
def test_hosts(host):
    assert is_host(host)


@pytest.mark.parametrize(
    "host", ["", "*", "a*b", "http://a", "a:80", "a/b", "192.0.2.1/24", "*.192.0.2.1", "fe80::1%eth0"]
)
def test_no_hosts(host):
    assert not is_host(host)


KEYS = st.sampled_from(
    ["task", "name", "agent", "steps", "verifier", "environment", "metadata", "memory", "memory_mb", "version", "min_reward",
     "timeout_sec", "cpus", "mcp_servers", "network_mode", "allowed_hosts", "artifacts", "env", "schema_version", "os", "x"]
)  # fmt: skip
SCALARS = st.sampled_from(
    ['"text"', '"2G"', "1", "-1", "1.5", "nan", "true", "1979-05-27", "07:32:00", '""', "[]", "{}"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda d: "{" + ", ".join(f"{k} = {v}" for k, v in d.items()) + "}"
        )
    ),
    max_leaves=6,
)


def outcome(content: bytes) -> TaskConfig | TaskError:
    try:
        return parse_config(content)[0]
    except TaskError as error:
        return error


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_table_is_read_or_refused_by_field(table):
    result = outcome("\n".join(f"{key} = {value}" for key, value in table.items()).encode())
    assert isinstance(result, TaskConfig) or re.split(r"[.\[]", result.field)[0] in table


@given(
    st.binary(max_size=300)
    | st.text(alphabet="[]{}=\"'\\\n\r\t#.,0123456789-:_+eETZaxtruefalsn", max_size=120).map(str.encode)
)
def test_any_bytes_are_read_or_refused(content):
    result = outcome(content)
    assert isinstance(result, TaskConfig) or result.file == "task.toml"
