"""Cases: arguments separated by "|", then indented lines of output; the single line "!" means exit status 2."""

import subprocess
import sys

cases = []
with open(sys.argv[1]) as stream:
    for line in stream:
        line = line.rstrip("\n")
        if line.startswith("    "):
            cases[-1][1].append(line.strip())
        elif line and not line.startswith("#"):
            cases.append((line.split("|"), []))

wrong = 0
for arguments, lines in cases:
    status, out = (2, "") if lines == ["!"] else (0, "".join(f"{line}\n" for line in lines))
    try:
        done = subprocess.run(["/home/user/bin/nextfire", *arguments], capture_output=True, text=True, timeout=20, cwd="/")
        found = done.returncode, done.stdout
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        found = error
    if found != (status, out):
        wrong += 1
        print("WRONG", arguments, "expected", (status, out), "found", found)
print(f"{len(cases)} cases, {wrong} wrong")
sys.exit(wrong > 0 or len(cases) < 20)
