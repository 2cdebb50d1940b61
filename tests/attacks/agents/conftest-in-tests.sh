#!/bin/bash
# report: 3
# victim: pytest
# leftover: tests-folder
# A conftest.py in /tests that turns every failure into a pass; an upload that merges leaves it there.
mkdir -p /tests
cat > /tests/conftest.py <<'END'
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
END
