"""Reads the units the way systemd does, as far as is needed; writes a CTRF report and the share of passed tests."""

import json
import os
import re
import shlex
import time
from pathlib import Path

UNITS = Path(os.environ.get("UNIT_DIR", "/opt/deploy/units"))
NAMES = ["vault-backup@.service", "vault-backup-nightly.timer", "vault-backup-weekly.timer"]
YES = {"yes", "true", "on", "1"}
FIVE_MINUTES = {"300", "300s", "5min", "5m", "5 min", "5minutes"}
TWO_HOURS = {"7200", "7200s", "2h", "2 h", "120min", "120m", "2hours"}
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


class Unit:
    def __init__(self, name):
        self.sections = {}
        section = None
        for line in (UNITS / name).read_text().splitlines():
            line = line.strip()
            if not line or line[0] in "#;":
                continue
            if line.startswith("["):
                assert line.endswith("]"), line
                section = self.sections.setdefault(line[1:-1], {})
                continue
            key, equals, value = line.partition("=")
            assert equals and section is not None, line
            section.setdefault(key.strip(), []).append(value.strip())

    def all(self, section, key):
        return self.sections.get(section, {}).get(key, [])

    def one(self, section, key):
        values = self.all(section, key)
        assert len(values) == 1, f"{key}: {values}"
        return values[0]


def service():
    return Unit(NAMES[0])


def expect(found, *right):
    assert found in right, f"found {found!r}, expected {' or '.join(map(repr, right))}"


def files():
    expect(sorted(p.name for p in UNITS.iterdir()), sorted(NAMES))


def service_unit():
    assert service().one("Unit", "Description")
    expect(service().one("Unit", "RequiresMountsFor").rstrip("/"), "/mnt/backup")
    expect(service().one("Unit", "ConditionPathIsMountPoint").rstrip("/"), "/mnt/backup")


def service_kind():
    expect(service().one("Service", "Type"), "oneshot")
    expect(service().one("Service", "User"), "vault")
    expect("Install" in service().sections, False)


def service_settings():
    expect(service().one("Service", "WorkingDirectory").rstrip("/"), "/srv/vault")
    expect(service().one("Service", "UMask").lstrip("0"), "27")
    expect(service().one("Service", "Nice").lstrip("+"), "10")


def service_time_limit():
    expect(service().one("Service", "TimeoutStartSec"), *TWO_HOURS)


def service_status():
    expect(service().one("Service", "SuccessExitStatus"), "3")


def service_environment():
    found = {}
    for line in service().all("Service", "Environment"):
        for word in shlex.split(line):
            key, _, value = word.partition("=")
            found[key] = value.replace("%i", "weekly")
    expect(found, {"VAULT_REPO": "/mnt/backup/vault", "VAULT_LEVEL": "info", "VAULT_TITLE": 'Vault backup, "weekly" run'})


def service_command():
    words = shlex.split(service().one("Service", "ExecStart"))
    expect(words, ["/usr/bin/vaultctl", "backup", "--set", "%i", "--tag", "cron job"])


def days(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("..")
        first, last = DAYS.index(first), DAYS.index(last or first)
        found |= set(range(first, last + 1))
    return found


def timer(name, on, at):
    def calendar():
        match = re.fullmatch(r"(\S+) +\*-\*-\* (\d\d:\d\d:\d\d)", Unit(f"vault-backup-{name}.timer").one("Timer", "OnCalendar"))
        assert match, "form of OnCalendar"
        expect((days(match[1]), match[2]), (on, at))

    def settings():
        unit = Unit(f"vault-backup-{name}.timer")
        assert unit.one("Unit", "Description")
        expect(unit.one("Timer", "Persistent").lower(), *YES)
        expect(unit.one("Timer", "RandomizedDelaySec"), *FIVE_MINUTES)

    def target():
        unit = Unit(f"vault-backup-{name}.timer")
        expect(unit.one("Timer", "Unit"), f"vault-backup@{name}.service")
        expect(unit.one("Install", "WantedBy"), "timers.target")

    return [(f"{name} timer: {check.__name__}", check) for check in (calendar, settings, target)]


TESTS = [(f.__name__, f) for f in (files, service_unit, service_kind, service_settings, service_time_limit, service_status,
                                   service_environment, service_command)]
TESTS += timer("nightly", set(range(5)), "02:30:00") + timer("weekly", {5}, "04:00:00")

start, results = time.time(), []
for name, test in TESTS:
    entry = {"name": name, "status": "passed", "duration": 0}
    try:
        test()
    except (AssertionError, OSError, ValueError) as error:
        entry.update(status="failed", message=f"{type(error).__name__}: {error}")
    print(entry["status"], name, entry.get("message", ""))
    results.append(entry)

passed = sum(entry["status"] == "passed" for entry in results)
summary = {"tests": len(results), "passed": passed, "failed": len(results) - passed, "pending": 0, "skipped": 0, "other": 0,
           "start": int(start * 1000), "stop": int(time.time() * 1000)}
logs = Path("/logs/verifier")
(logs / "ctrf.json").write_text(json.dumps({"results": {"tool": {"name": "units.py"}, "summary": summary, "tests": results}}))
(logs / "reward.txt").write_text(f"{passed / len(results):.4f}\n")
