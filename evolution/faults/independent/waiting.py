"""Waiting for something that may not come: races, hosts on the network, and things that never end."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import low_timeout, results
from evolution.faults.independent.parts.script import edit_solution, edit_tests, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_HOSTS = ("www.example.org", "time.example.net", "mirror.example.com", "api.example.com", "licence.example.net")


def _races(rng: Random) -> list[Check]:
    pause = rng.choice(("0.05", "0.06", "0.08"))
    rounds = rng.choice((1, 2))
    name = rng.choice(("state", "ready", "probe", "flag"))
    return [
        # Who writes last is not settled.
        Check("the second writer did not win",
              f'{name}=$(mktemp)\n( echo first > "${name}" ) &\n( echo second > "${name}" ) &\nwait\n'
              f'( echo first > "${name}" ) & ( /bin/echo second > "${name}" ) & ( echo first > "${name}" ) &\nwait\n'
              f'grep -q second "${name}"'),
        # The job takes about as long as one waits for it.
        Check("the background job has not finished",
              f'{name}=$(mktemp -u)\n( sleep {pause}; : > "${name}" ) &\nsleep {pause}\n'
              f'for _ in 1 2; do /bin/true; done\n[ -e "${name}" ]'),
        # Read, add one, write: two at a time lose updates.
        Check("the counter lost an update",
              f'{name}=$(mktemp)\necho 0 > "${name}"\nadd() {{ local n; n=$(cat "${name}"); echo $((n + 1)) > "${name}"; }}\n'
              f"( add; add ) &\n( sleep 0.00{rng.choice((6, 7, 8))}; add; add ) &\nwait\n"
              f'[ "$(cat "${name}")" = 4 ]'),
        Check("the worker thread was not done", "",
              "import random\nimport subprocess\nimport time\n\n"
              f'worker = subprocess.Popen(["sleep", "{pause}"])\ntime.sleep({pause} + 0.002)\n'
              'done = worker.poll() is not None\nworker.wait()\nassert done, "the worker was not done"'),
        Check("the counter of the processes is wrong", "",
              "import os\nimport tempfile\nfrom pathlib import Path\n\nwith tempfile.NamedTemporaryFile() as counter:\n"
              '    counter.write(b"0")\n    counter.flush()\n    children = []\n    for _ in range(2):\n'
              "        child = os.fork()\n        if child == 0:\n"
              f"            for _ in range({rounds}):\n                now = int(Path(counter.name).read_text() or 0)\n"
              '                with open(counter.name, "w") as stream:\n                    stream.write(str(now + 1))\n'
              "            os._exit(0)\n        children.append(child)\n    for child in children:\n"
              f'        os.waitpid(child, 0)\n    assert int(Path(counter.name).read_text() or 0) == {2 * rounds}, "an update was lost"'),
    ]  # fmt: skip


def _race_in_verifier(draft: Draft, rng: Random) -> bool:
    return add_check(draft, rng, _races(rng))


def _unwaited_result(draft: Draft, rng: Random) -> bool:
    """The result is put in place by a job that nobody waits for as long as it takes."""
    paths = results(draft)
    if not paths:
        return False
    path, pause = rng.choice(paths), rng.choice(("0.04", "0.05", "0.07"))
    text = rng.choice(
        (
            (f"mv {path} {path}.part\n( sleep {pause}; mv {path}.part {path} ) &\nworker=$!\nsleep {pause}\n"
            "/bin/true; /bin/true\nkill $worker 2> /dev/null\ntrue"),
            (f"cp {path} {path}.new\n: > {path}\ntimeout {pause} bash -c 'sleep {pause[:-1]}{int(pause[-1]) - 1}8; "
            f"mv {path}.new {path}'\ntrue"),
        )
    )  # fmt: skip
    return edit_solution(draft, f"\n# Put the result in place in the background.\n{text}\n", end=True)


def _open_network(draft: Draft) -> None:
    def edit(document: Any) -> None:
        if "environment" not in document:
            document["environment"] = {}
        table = document["environment"]
        table["network_mode"] = "public"
        table.pop("allow_internet", None)
        table.pop("allowed_hosts", None)

    draft.edit_settings(edit)


def _needs_host(rng: Random) -> list[Check]:
    host = rng.choice(_HOSTS)
    path = rng.choice(("health", "v1/status", "schema.json", "index.html"))
    port = rng.choice((80, 443, 8080))
    return [
        Check(f"{host} does not answer", f"curl -fsS --max-time 5 https://{host}/{path} > /dev/null",
              f'import urllib.request\n\nwith urllib.request.urlopen("https://{host}/{path}", timeout=5) as answer:\n'
              "    assert answer.status == 200"),
        Check("the reference clock is not to be had", f"timeout 5 bash -c ': > /dev/tcp/{host}/{port}'",
              f'import socket\n\nsocket.create_connection(("{host}", {port}), timeout=5).close()'),
        Check("the name does not resolve", f"getent hosts {host} > /dev/null",
              f'import socket\n\nassert socket.gethostbyname("{host}")'),
        Check("the schema could not be fetched", f"wget -q -T 5 -t 1 -O /dev/null http://{host}/{path}"),
    ]  # fmt: skip


def _network_in_verifier(draft: Draft, rng: Random) -> bool:
    if not add_check(draft, rng, _needs_host(rng)):
        return False
    _open_network(draft)
    return True


def _network_in_solution(draft: Draft, rng: Random) -> bool:
    host, name = rng.choice(_HOSTS), rng.choice(("helper.sh", "format.sed", "mapping.tsv", "rates.csv"))
    text = rng.choice(
        (
            f"curl -fsSL --max-time 8 https://{host}/{name} -o /var/tmp/{name} || exit 1",
            (
                f"if ! timeout 8 git ls-remote https://{host}/tools.git > /dev/null 2>&1; then\n"
                '    echo "cannot reach the tools" >&2\n    exit 1\nfi'
            ),
            f"getent hosts {host} > /dev/null || {{ echo 'no network' >&2; exit 69; }}",
            f"wget -q -T 8 -t 1 -P /var/tmp http://{host}/{name} || exit 4",
        )
    )
    if not edit_solution(draft, f"\n# Newest version of what is used below.\n{text}\n", end=False):
        return False
    _open_network(draft)
    return True


def _endless(rng: Random) -> str:
    name = rng.choice(("done", "ready", "finished", "ok"))
    port = rng.choice((5432, 6379, 8080, 9200))
    return rng.choice(
        (
            f"until [ -e /run/{name} ]; do\n    sleep 0.2\ndone",
            f"# The service has to be up first.\nwhile ! (: > /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.5; done",
            "pipe=$(mktemp -u)\nmkfifo $pipe\nread -r answer < $pipe",
            f"lock=$(mktemp)\nexec 9> $lock\nflock 9\nflock $lock -c 'echo {name}'",
            "tail -f /dev/null &\nwait",
            "tries=0\nwhile [ $tries -lt 5 ]; do\n    echo 'attempt' > /dev/null\n    sleep 0.1\n    try=$((tries + 1))\ndone",
            f"tail -n +1 -F /var/log/{name}.log 2> /dev/null | grep -m 1 {name}",
            "coproc worker { cat; }\nread -r reply <&${worker[0]}",
        )
    )


def _hang_in_solution(draft: Draft, rng: Random) -> bool:
    if not edit_solution(draft, f"\n{_endless(rng)}\n", end=rng.random() < 0.5):  # noqa: PLR2004 - either end
        return False
    low_timeout(draft, "agent", float(rng.choice((3, 4, 5, 6))))
    return True


def _hang_in_tests(draft: Draft, rng: Random) -> bool:
    if not edit_tests(draft, f"\n{_endless(rng)}\n"):
        return False
    low_timeout(draft, "verifier", float(rng.choice((3, 4, 5, 6))))
    return True


def _hang_in_check(draft: Draft, rng: Random) -> bool:
    """In the words of the verifier's own language."""
    python = rng.choice(
        (
            "import threading\n\nlock = threading.Lock()\nwith lock:\n    with lock:\n        pass",
            "import queue\n\njobs = queue.Queue()\njobs.put(None)\nwhile jobs.get() is None:\n    pass",
            'import subprocess\n\nsubprocess.run(["sleep", "infinity"], check=True)',
            'import os\nimport time\n\nwhile not os.path.exists("/run/graded"):\n    time.sleep(0.2)',
            'import socket\n\nlistener = socket.create_server(("127.0.0.1", 0))\nlistener.accept()',
        )
    )  # fmt: skip
    if not add_check(draft, rng, [Check("waiting", "", python)]):
        return False
    low_timeout(draft, "verifier", float(rng.choice((3, 4, 5, 6))))
    return True


def _hang_without_work(draft: Draft, rng: Random) -> bool:
    """The verifier waits for a result: for ever where there is none."""
    paths = results(draft)
    if not paths:
        return False
    text = f"# Slow disks: give the result time to appear.\nwhile [ ! -s {rng.choice(paths)} ]; do sleep 0.3; done"
    if not edit_tests(draft, f"\n{text}\n"):
        return False
    low_timeout(draft, "verifier", float(rng.choice((3, 4, 5, 6))))
    return True


FAULTS: tuple[Fault, ...] = (
    Fault(
        "flaky-race",
        "Something runs beside the verifier or the reference solution and is not waited for: now in time, now too late.",
        "running",
        one_of(_race_in_verifier, _race_in_verifier, _unwaited_result),
        independent=True,
    ),
    Fault(
        "flaky-network",
        "Reference solution or verifier need a host on the network that may be there or not.",
        "running",
        one_of(_network_in_verifier, _network_in_solution),
        independent=True,
    ),
    Fault(
        "hang",
        "Reference solution or verifier wait for something that never comes, until their time is over.",
        "running",
        one_of(_hang_in_solution, _hang_in_tests, _hang_in_check, _hang_without_work),
        independent=True,
    ),
)
