"""How good the gates are: recall on planted faults, kind by kind, and how many sound tasks they refuse.

    python benchmarks/gates.py                            the full table: 400 sound tasks, 40 faults of each kind
    python benchmarks/gates.py --sound 40 --faults 2      a sample

Sound tasks: those written by hand (`tests/data`), the bundled seeds, and the embedded author's. A fault is planted in
copies of them (`evolution.faults`); no gate can read what was planted. What running cannot show is counted apart; with
--judge MODEL somebody reads as well (gate `rubric-judge`).
Finished tasks are kept in --work, so that a run that was ended goes on; other code finds nothing finished.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agents.model import ModelGateway
from agents.roles.judge import ModelJudge
from benchmarks.gate_parts import corpus, table
from evolution.faults.planting import kinds
from evolution.gates.registry import make_gates
from evolution.gates.roles import Roles
from evolution.gates.settings import GateSettings
from evolution.journal import Journal
from evolution.validation.identity import code_digest
from evolution.validation.report import TaskReport
from evolution.validation.running import Validation
from evolution.validation.suppressions import Suppressions
from evolution.verdict import VerdictClass
from sandbox.backends import load_backend
from sandbox.sandboxes import Sandboxes

GATES = ("rubric", "build", "leak", "oracle", "noop", "rerun", "exploit", "alternative", "mutation")
RESULTS = Path(__file__).parent / "results"


def roles(judge: str | None, journal: Journal) -> Roles:
    return Roles(judge=ModelJudge(ModelGateway(journal), judge)) if judge else Roles()


async def judged(
    items: list[corpus.Item], arguments: argparse.Namespace, *, thorough: bool
) -> list[tuple[corpus.Item, TaskReport]]:
    backend = load_backend(base=("*=host",))
    gates = [*arguments.gates, *(["rubric-judge"] if arguments.judge else [])]
    found: dict[int, TaskReport] = {}
    try:
        with Journal(arguments.work / "judged.db") as journal:
            validation = Validation(
                Sandboxes(backend, concurrency=4 * (os.cpu_count() or 1), network="task"),
                make_gates(gates, GateSettings(), roles(arguments.judge, journal)),
                Suppressions(),
                journal,
                settings=f"{gates} {arguments.judge} {thorough} {code_digest('sandbox', 'evolution')}",
                workers=arguments.workers,
                thorough=thorough,
            )
            began = time.monotonic()
            async for place, report in validation.run([item.folder for item in items]):
                found[place] = report
                item = items[place]
                wrong = (report.verdict_class is VerdictClass.ACCEPTED) == (item.fault is not None)
                if wrong or len(found) % 50 == 0:
                    codes = ", ".join(finding.code for finding in report.findings)
                    name = item.fault.kind if item.fault else "sound"
                    said = f"{name} {item.folder.name}: {report.verdict_class} {codes}"
                    print(f"[{len(found)}/{len(items)} {time.monotonic() - began:.0f} s] {said}", file=sys.stderr)
    finally:
        await backend.close()
    return [(item, found[place]) for place, item in enumerate(items)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sound", type=int, default=400, help="sound tasks (default: 400)")
    parser.add_argument("--faults", type=int, default=40, help="faults of each kind (default: 40)")
    parser.add_argument("--kinds", nargs="+", help="only these kinds")
    parser.add_argument("--gates", nargs="+", default=GATES)
    parser.add_argument("--judge", metavar="MODEL", help="a model that reads every task that the other gates accept")
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--work", type=Path, default=Path("runs/benchmark-gates"), help="corpus and finished work")
    parser.add_argument("--csv", type=Path, default=RESULTS, help="folder of gates.csv and gates-precision.csv")
    arguments = parser.parse_args()
    if arguments.sound < 1 or arguments.faults < 0:
        parser.error("--sound: at least 1; --faults: at least 0")
    unknown = [kind for kind in arguments.kinds or () if kind not in kinds()]
    if unknown:
        parser.error(f"--kinds {unknown[0]}: no such kind; there are {', '.join(kinds())}")
    arguments.work.mkdir(parents=True, exist_ok=True)
    sound = corpus.sound(arguments.work / "sound", arguments.sound)
    faulty = corpus.faulty(arguments.work / "faulty", sound, arguments.faults, arguments.kinds)
    found = asyncio.run(judged(sound, arguments, thorough=True))
    found += asyncio.run(judged(faulty, arguments, thorough=False))
    ours = sum(report.verdict_class is VerdictClass.INFRASTRUCTURE for _, report in found)
    by_kind, by_gate = table.kind_rows(found), table.gate_rows(found)
    for rows, name, columns in (
        (by_kind, "gates.csv", table.KIND_COLUMNS),
        (by_gate, "gates-precision.csv", table.GATE_COLUMNS),
    ):
        table.write(rows, arguments.csv / name, columns)
        table.show(rows, columns)
        print()
    print(f"{len(found)} tasks judged; {ours} could not be, for reasons of this machine, and are left out above")


if __name__ == "__main__":
    main()
