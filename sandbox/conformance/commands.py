"""Commands: exit statuses, shell and argument vectors, folders, variables, users, standard input."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING

from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import offered
from sandbox.errors import UnsupportedTaskError

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage
    from sandbox.protocol import ExecResult

_LONG = 100_000
_MUCH = 3 << 20


@check("exec.exit_status", "The exit status of a command is its own, and never an exception.")
async def exit_status(stage: Stage) -> None:
    """Tries four, by shell and by argument vector."""
    async with stage.sandbox() as sandbox:
        for code in (0, 1, 42, 255):
            for command in (f"exit {code}", ["bash", "-c", f"exit {code}"]):
                result = await sandbox.exec(command)
                expect_equal(result.exit_code, code, f"exit_code of {command!r} to be", "pass it on as it is")
                expect_equal(result.ok, code == 0, f"ok of {command!r} to be", "0 and not timed out is ok")


@check("exec.signal", "A command killed by signal n has exit status 128 + n.")
async def killed_by_signal(stage: Stage) -> None:
    """Lets a shell and a program of an argument vector kill themselves."""
    async with stage.sandbox() as sandbox:
        for number in (6, 9, 11, 15):
            script = f"import os; os.kill(os.getpid(), {number})"
            for command in (f"kill -{number} $$", ["python3", "-c", script]):
                result = await sandbox.exec(command)
                remedy = "a wait status with a signal n is 128 + n"
                expect_equal(result.exit_code, 128 + number, f"exit_code of {command!r} to be", remedy)


@check("exec.not_found", "A program that is not there gives 127, one that may not be run 126, without an exception.")
async def not_found(stage: Stage) -> None:
    """Tries both, by shell and by argument vector."""
    async with stage.sandbox() as sandbox:
        file = f"{stage.place}/plain"
        await sandbox.write_file(file, b"#!/bin/sh\n", mode=0o644)
        for program, code in (("envolve-no-such-program", 127), (file, 126)):
            for command in (program, [program]):
                result = await sandbox.exec(command)
                expect_equal(result.exit_code, code, f"exit_code of {command!r} to be", "as a shell has it")


@check("exec.shell", "A command given as text is run by bash.")
async def text_is_bash(stage: Stage) -> None:
    """Uses what only bash has."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("a=(x 'y z'); [[ ${#a[@]} == 2 ]] && printf '%s' \"${a[1]}\"")
        expect_equal(result.stdout, b"y z", "bash syntax to print", "run text by `bash -c`")


@check("exec.argv", "An argument vector reaches the program as it is: no shell looks at it.")
async def argv_is_literal(stage: Stage) -> None:
    """Passes all that a shell would change."""
    words = ["$HOME", "a  b", "*", "", ";ls", "`id`", "'\"", "\\", "new\nline", "ü", "--", "~"]
    script = "import sys; sys.stdout.buffer.write(b'|'.join(map(__import__('os').fsencode, sys.argv[1:])))"
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(["python3", "-c", script, *words])
        expect_equal(result.stdout, "|".join(words).encode(), "the arguments to arrive as", "quote or pass a list")


@check("exec.long_argument", "Arguments of 100,000 characters arrive.")
async def long_argument(stage: Stage) -> None:
    """Passes one by argument vector and in a shell command."""
    async with stage.sandbox() as sandbox:
        long = "x" * _LONG
        for command in (["python3", "-c", "import sys; print(len(sys.argv[1]))", long], f"a={long}; echo ${{#a}}"):
            result = await sandbox.exec(command)
            expect_equal(result.stdout, b"100000\n", "its length to be", "send long commands another way than one line")


@check("exec.workdir", "A command that names no folder runs in the image's working directory.")
async def workdir_of_the_image(stage: Stage) -> None:
    """Asks for it."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("pwd -P")
        expect_equal(result.text.strip(), stage.image.workdir, "the working directory to be", "use Image.workdir")


@check("exec.cwd_created", "A working directory that is not there is created.")
async def cwd_is_created(stage: Stage) -> None:
    """Names one three levels below what is there."""
    async with stage.sandbox() as sandbox:
        for command in ("pwd -P", ["pwd", "-P"]):
            wanted = f"{stage.place}/new {len(command)}/deep/er"
            result = await sandbox.exec(command, cwd=wanted)
            expect_equal(result.text.strip("\n"), wanted, "the working directory to be", "make it, parents too")


@check("exec.env", "Variables come on top of the image's, whatever is in their values.")
async def variables(stage: Stage) -> None:
    """Passes newlines, quotes and an empty one."""
    given = {"A": "two\nlines", "B": "'\"$HOME`id`\\", "C": "", "D": "ü ", "FROM_IMAGE": "overridden"}
    script = "import os; [os.write(1, os.environb[k].hex().encode() + b' ') for k in b'A B C D FROM_IMAGE'.split()]"
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(["python3", "-c", script], env=given)
        wanted = "".join(f"{value.encode().hex()} " for value in given.values())
        expect_equal(result.text, wanted, "the values (in hex) to be", "pass variables without a shell between")
        result = await sandbox.exec('printf "$FROM_IMAGE"')
        expect_equal(result.stdout, b"yes", "the image's own variable to be", "start from Image.env")


@check("exec.clean_env", "With clean_env a command sees PATH, HOME, LANG and what it was given, nothing else.")
async def clean_env(stage: Stage) -> None:
    """Lists the variables a command sees, and looks for the host's."""
    name = "ENVOLVE_CONFORMANCE_HOST"
    os.environ[name] = "1"
    try:
        async with stage.sandbox() as sandbox:
            clean = _names(await sandbox.exec(["env"], clean_env=True, env={"GIVEN": "1"}))
            usual = _names(await sandbox.exec(["env"]))
    finally:
        del os.environ[name]
    expect(name not in usual | clean, "no variable of this machine", name, "never hand os.environ on")
    remedy = "leave Image.env out and set these three"
    # ENVOLVE_LOCAL_… are the marks by which the back end without isolation finds its processes.
    seen = {name for name in clean if not name.startswith("ENVOLVE_LOCAL_")}
    expect(seen == {"PATH", "HOME", "LANG", "GIVEN"}, "PATH, HOME, LANG and GIVEN", sorted(seen), remedy)


@check("exec.stdin", "Standard input arrives byte for byte, then ends; a command need not read it.")
async def standard_input(stage: Stage) -> None:
    """Sends three MiB to a reader and to a program that does not read."""
    data = bytes(range(256)) * (_MUCH // 256)
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(["sha256sum"], stdin=data, timeout=60)
        wanted = hashlib.sha256(data).hexdigest().encode()
        expect_equal(result.stdout[:64], wanted, "the digest of the input to be", "send all of it, then close")
        result = await sandbox.exec(["true"], stdin=data, timeout=60)
        expect(result.ok, "a command that reads nothing to end well", result, "a broken pipe is no error")


@check("exec.no_stdin", "Without standard input a command meets its end at once.")
async def no_standard_input(stage: Stage) -> None:
    """Runs `cat`, without and with empty input."""
    async with stage.sandbox() as sandbox:
        for stdin in (None, b""):
            result = await sandbox.exec("cat; echo ended", stdin=stdin, timeout=30)
            expect_equal(
                result.stdout, b"ended\n", f"`cat` with stdin={stdin!r} to give", "open /dev/null, or close it"
            )


@check("exec.state", "Changes made by one command are seen by the next.")
async def changes_are_seen(stage: Stage) -> None:
    """Writes a file in one command and reads it in the next."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec(f"echo kept >{stage.place}/file; export NOT_KEPT=1; cd /")
        result = await sandbox.exec(f'cat {stage.place}/file; printf "%s" "$NOT_KEPT"')
        expect_equal(result.stdout, b"kept\n", "the next command to see", "one machine for all commands of a sandbox")


@check("exec.at_once", "Several commands of one sandbox may run at once.")
async def several_at_once(stage: Stage) -> None:
    """Two commands wait for each other's file."""
    async with stage.sandbox() as sandbox:
        wait = "touch {place}/{mine}; until [ -e {place}/{other} ]; do sleep 0.05; done; echo {mine}"
        commands = [wait.format(place=stage.place, mine=m, other=o) for m, o in (("a", "b"), ("b", "a"))]
        results = await asyncio.gather(*(sandbox.exec(command, timeout=60) for command in commands))
        expect_equal([r.stdout for r in results], [b"a\n", b"b\n"], "both to end, with", "don't queue commands")


@check("exec.seconds", "`seconds` is how long the command ran.")
async def seconds(stage: Stage) -> None:
    """Runs `sleep 1`."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("sleep 1")
        expect(result.seconds >= 1, "at least 1 s", result.seconds, "measure from start to end")


@check("exec.user", "A command runs as the user it names, by name and by number.", needs=("users",))
async def other_user(stage: Stage) -> None:
    """Runs `id` as nobody and as root."""
    async with stage.sandbox() as sandbox:
        for user, wanted in (("nobody", "65534"), ("0", "0"), (0, "0")):
            result = await sandbox.exec("id -u", user=user, cwd="/")
            expect_equal(result.text.strip(), wanted, f"`id -u` as {user!r} to be", "switch the user, then run")


@check("exec.user_number", "A command may run as a number that has no account.", needs=("users",))
async def user_without_account(stage: Stage) -> None:
    """Runs `id` as 4321; a back end may refuse it."""
    async with stage.sandbox() as sandbox:
        result = await offered("users without an account", sandbox.exec("id -u", user=4321, cwd="/"))
        expect_equal(result.text.strip(), "4321", "`id -u` as 4321 to be", "take numbers as they are, or refuse them")


@check("exec.unknown_user", "A user that cannot be had is refused with UnsupportedTaskError.")
async def unknown_user(stage: Stage) -> None:
    """Names one that no image has."""
    async with stage.sandbox() as sandbox:
        work = sandbox.exec("true", user="envolve-no-such-user")
        await expect_error(
            work, UnsupportedTaskError, "an unknown user", "tell it apart from the command's own failure"
        )


def _names(result: ExecResult) -> set[str]:
    """Names of the variables that `env` printed."""
    return {line.partition("=")[0] for line in result.text.splitlines() if "=" in line}
