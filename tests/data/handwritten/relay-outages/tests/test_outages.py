import csv
import json
import time
import unittest

TARGET = "/srv/monitor/outages.csv"


class TestOutages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open("/tests/outages.golden", newline="") as f:
            cls.want = list(csv.reader(f))
        try:
            with open(TARGET, newline="") as f:
                cls.got = list(csv.reader(f))
        except (OSError, UnicodeDecodeError, csv.Error) as e:
            cls.got = None
            cls.why = str(e)

    def test_file_is_there(self):
        self.assertIsNotNone(self.got, getattr(self, "why", ""))

    def test_header(self):
        self.assertTrue(self.got)
        self.assertEqual(self.got[0], ["host", "port", "start", "end", "seconds"])

    def test_every_outage_and_no_other(self):
        self.assertIsNotNone(self.got)
        self.assertEqual({tuple(r) for r in self.got[1:]}, {tuple(r) for r in self.want[1:]})

    def test_rows_in_order(self):
        self.assertIsNotNone(self.got)
        self.assertEqual(self.got, self.want)


class Recorder(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.entries = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.entries.append({"name": test.id(), "status": "passed", "duration": 0})

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.entries.append({"name": test.id(), "status": "failed", "duration": 0, "message": str(err[1])[:2000]})

    addError = addFailure


if __name__ == "__main__":
    start = int(time.time() * 1000)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestOutages)
    result = unittest.TextTestRunner(resultclass=Recorder, verbosity=2).run(suite)
    passed = sum(e["status"] == "passed" for e in result.entries)
    failed = len(result.entries) - passed
    report = {
        "results": {
            "tool": {"name": "unittest"},
            "summary": {
                "tests": passed + failed, "passed": passed, "failed": failed, "skipped": 0, "pending": 0, "other": 0,
                "start": start, "stop": int(time.time() * 1000),
            },
            "tests": result.entries,
        }
    }
    with open("/logs/verifier/ctrf.json", "w") as f:
        json.dump(report, f)
    with open("/logs/verifier/reward.txt", "w") as f:
        f.write("1" if passed == 4 and not failed else "0")
