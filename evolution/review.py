"""`python -m evolution.review RUN`: look at released environments one by one; a rejection's reason becomes a rubric."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.commands import WRONG_USE, rooms_problem
from evolution.errors import ConfigError, EvolutionError
from evolution.gates.outcomes import shown_safely
from evolution.reviewing import (
    Released,
    Review,
    check_run,
    difference,
    record,
    released,
    reviews,
    tests_text,
    transcript_text,
)
from evolution.rubrics import add_rubric, read_rubrics

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """\
Shows the environments that a run has released, one by one: the instruction, what differs from the parent, and on
request the tests and the transcript. You accept each or reject it with a reason; the reason becomes a rubric in a file
that the critic and the judge of later runs go by (--rubrics), and that you can edit.
"""
KEYS = """\
  a  accept          r  reject, with a reason       s  skip for now       q  quit (what was said is kept)
  i  instruction     d  difference to the parent    t  tests              c  transcript (conversations)    v  verdicts
"""
DONE, INTERRUPTED = 0, 130
Rewrite = Callable[[str, Released], str]
"""Makes a rubric of a reason."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    make = argparse.ArgumentParser(
        prog="python -m evolution.review",
        description=DESCRIPTION,
        epilog=f"keys:\n{KEYS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    make.add_argument("run", type=Path, metavar="RUN", help="a run folder (--out of evolution.generation)")
    make.add_argument(
        "--rubrics", type=Path, default=Path("rubrics.yaml"), metavar="FILE", help="default: rubrics.yaml, here"
    )
    make.add_argument("--model", metavar="MODEL", help="turns a reason into a general rule; else it is taken as it is")
    make.add_argument("--again", action="store_true", help="also those that were reviewed before")
    return make


class Reviewing:
    """The conversation with the reviewer.

    Args:
        run: The run folder.
        rubrics: The file of rubrics.
        rewrite: Makes a rubric's text of a reason.
        ask: Reads an answer; raises `EOFError` at the end of the input.
        say: Shows a text.
    """

    def __init__(
        self,
        run: Path,
        rubrics: Path,
        *,
        rewrite: Rewrite = lambda reason, _: reason,
        ask: Callable[[str], str] = input,
        say: Callable[[str], None] = print,
    ) -> None:
        self._run, self._rubrics, self._rewrite, self._ask, self._show_text = run, rubrics, rewrite, ask, say

    def through(self, *, again: bool = False) -> None:
        """Shows every environment that waits for a review, until all are through or the reviewer quits.

        Raises:
            EvolutionError: The run or the file of rubrics cannot be read.
        """
        known = reviews(self._run)
        folder = self._rubrics.absolute().parent
        if not os.access(folder, os.W_OK):
            raise ConfigError(f"--rubrics {self._rubrics}: no file can be made in {folder}; give another one")
        read_rubrics(self._rubrics)  # a broken file is told before anybody has typed a reason
        waiting = [item for item in released(self._run) if again or item.task_id not in known]
        for number, item in enumerate(waiting, start=1):
            self._say(f"\n{'─' * 78}\n{number} of {len(waiting)}   {_head(item)}\n")
            self._show("i", item)
            self._show("d", item)
            if not self._decide(item):
                return
        accepted = sum(review.verdict == "accepted" for review in reviews(self._run).values())
        self._say(f"\nThrough. {accepted} accepted, {len(reviews(self._run)) - accepted} rejected in all.")

    def _say(self, text: str) -> None:
        """Shows a text; whatever a model or a task put into it, the terminal obeys nothing of it."""
        self._show_text(shown_safely(text))

    def _decide(self, item: Released) -> bool:
        """Asks until there is a word on it; whether to go on."""
        while True:
            try:
                key = self._ask("[a]ccept [r]eject [s]kip [q]uit, or show [i] [d] [t] [c] [v]: ").strip().lower()[:1]
            except EOFError:
                return False
            if key == "q":
                return False
            if key == "s":
                return True
            if key == "a":
                record(self._run, Review(item.task_id, "accepted"))
                return True
            if key == "r":
                if self._reject(item):
                    return True
            elif not self._show(key, item):
                self._say(KEYS)

    def _reject(self, item: Released) -> bool:
        try:
            read_rubrics(self._rubrics)
        except EvolutionError as error:  # somebody is editing it: a reason typed now would be lost
            self._say(f"{error}\nMend the file first.")
            return False
        try:
            reason = self._ask("Why? (empty: not rejected) ").strip()
        except EOFError:
            reason = ""
        if not reason:
            return False
        text = self._rewrite(reason, item)
        self._say(f"Rubric: {text}")
        try:
            other = self._ask("Enter to take it, other words to put them in its place, - for no rubric: ").strip()
        except EOFError:
            other = ""
        text = other or text
        record(self._run, Review(item.task_id, "rejected", reason))  # the word counts, whatever becomes of the rubric
        if text != "-":
            try:
                rubrics = add_rubric(self._rubrics, text, reason=reason, task=item.task_id)
            except (EvolutionError, OSError) as error:
                self._say(f"{error}\nIt is rejected, and no rubric came of it: add it to {self._rubrics} yourself.")
                return True
            name = rubrics.rubrics[-1].id
            record(self._run, Review(item.task_id, "rejected", reason, name))
            self._say(f"{name} is in {self._rubrics}, version {rubrics.version}.")
        return True

    def _show(self, key: str, item: Released) -> bool:
        shown = {
            "i": lambda: item.task.instruction,
            "d": lambda: difference(item.parent, item.task),
            "t": lambda: tests_text(item.task),
            "c": lambda: transcript_text(item.transcripts),
            "v": lambda: _verdicts(item),
        }
        if key not in shown:
            return False
        self._say(shown[key]() + "\n")
        return True


def _head(item: Released) -> str:
    entry = item.entry
    steps = [
        " → ".join(f"{step['scenario']}/{step['skill']}" for step in entry[name])
        for name in ("sequence_before", "sequence_after")
    ]
    return (
        f"{item.task_id}   generation {entry['generation']}, {entry['axis']}, effort {entry['effort']}, "
        f"D_T {entry['difficulty_before']:.1f} → {entry['difficulty_after']:.1f} nats\n"
        f"  before: {steps[0]}\n  after:  {steps[1]}"
    )


def _verdicts(item: Released) -> str:
    return "\n".join(
        f"{verdict['gate']:14} {'passed' if verdict['passed'] else verdict['code']}"
        for verdict in item.entry["verdicts"]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    arguments = parser().parse_args(argv)
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return WRONG_USE
    try:
        check_run(arguments.run)
        if arguments.model is None:
            Reviewing(arguments.run, arguments.rubrics).through(again=arguments.again)
            return DONE
        from graphs.validation import rubric_writing

        with rubric_writing(arguments.run, arguments.model) as rewrite:
            Reviewing(arguments.run, arguments.rubrics, rewrite=rewrite).through(again=arguments.again)
    except EvolutionError as error:
        print(f"error: {shown_safely(str(error))}", file=sys.stderr)
        return WRONG_USE
    except OSError as error:
        print(f"error: {error}: what was said before is kept", file=sys.stderr)
        return WRONG_USE
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    return DONE


if __name__ == "__main__":
    sys.exit(main())
