import subprocess
import unittest


def durfmt(*arguments):
    done = subprocess.run(
        ["python3", "-m", "durfmt", *arguments], cwd="/srv/tools", capture_output=True, text=True, timeout=20
    )
    return done.returncode, done.stdout, done.stderr


class Good(unittest.TestCase):
    def says(self, arguments, *lines):
        self.assertEqual(durfmt(*arguments)[:2], (0, "".join(f"{line}\n" for line in lines)), arguments)

    def test_units(self):
        self.says(["1h30m", "30M 1H", " 2 d", "1w1d1h1m1s"], "1h 30m", "1h 30m", "2d", "1w 1d 1h 1m 1s")

    def test_carries(self):
        self.says(["90m", "36h", "604799s", "8d", "0w10000s"], "1h 30m", "1d 12h", "6d 23h 59m 59s", "1w 1d", "2h 46m 40s")

    def test_plain(self):
        self.says(["0", "00", " 3601 ", "59"], "0s", "0s", "1h 1s", "59s")

    def test_clock_input(self):
        self.says(["1:05", "90:00", "100:00:09", " 0:59:59 "], "1m 5s", "1h 30m", "4d 4h 9s", "59m 59s")

    def test_clock_output(self):
        self.says(["--clock", "49h7s", "5m", "0s", "61"], "49:00:07", "0:05:00", "0:00:00", "0:01:01")

    def test_sum(self):
        self.says(["--sum", "1h", "0:30", "1800", "1m 30s"], "1h 32m")
        self.says(["--sum", "--clock", "23h", "2h"], "25:00:00")
        self.says(["--clock", "--sum", "1:00:00"], "1:00:00")


class Bad(unittest.TestCase):
    BAD = ["", "  ", "h", "5x", "1h 30", "1h1h", "1H2h", "1 0s", "1:2", "1:60", "1:60:00", "1:00:60", ":30", "1:00:00:00",
           "1:", "-5", "1.5h", "+5", "1h:30", "1: 30", "1:030", "\u0663", "\u0662h", "5\tm", "1h30m!"]

    def test_each(self):
        for text in self.BAD:
            with self.subTest(text=text):
                self.assertEqual(durfmt(text), (1, "", f"bad duration: {text}\n"))

    def test_first_of_several(self):
        self.assertEqual(durfmt("--sum", "1h", " 2hm ", "zz", "3"), (1, "", "bad duration:  2hm \n"))

    def test_usage(self):
        for arguments in [[], ["--clock"], ["--minutes", "5m"], ["--sum", "--", "5m"], ["--Clock", "5m"]]:
            with self.subTest(arguments=arguments):
                code, out, err = durfmt(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertTrue(err.strip())
