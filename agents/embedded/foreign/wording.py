"""The words and the shell lines around inserted steps."""

from __future__ import annotations

import re
import shlex

from agents.embedded.foreign.placing import HOME, OUT
from agents.embedded.foreign.sealing import UNSEAL
from agents.embedded.library import Checkpoint, RenderedStep


def told(step: RenderedStep) -> str:
    """A step's part of an instruction."""
    return f"## {step.heading}\n\n{step.paragraph.strip()}"


def told_unsealing(path: str, key: Checkpoint) -> str:
    """The part of an instruction about a sealed input."""
    return (
        f"## The sealed file\n\nThe rest of the work needs `{path}`, and that file comes sealed. `{HOME}/{UNSEAL}` "
        f"opens it in place:\n\n    python3 {HOME}/{UNSEAL} {shlex.quote(path)} KEY\n\nKEY is the {key.description}, "
        "written as it stands there. Open the file before you go on. The top of that program says how sealing works."
    )


def told_countersign(path: str, figure: Checkpoint, target: str) -> str:
    """The part of an instruction that asks for a countersignature."""
    return (
        f"## The countersignature\n\nWhen `{path}` is as it shall stay, write `{target}`: a single line with the "
        "SHA-256 (64 lower-case hexadecimal digits) of the text `FIGURE:DIGEST`, taken without a line end. "
        f"FIGURE is the {figure.description}; DIGEST is the SHA-256 of `{path}` in the same notation. Should `{path}` "
        "change again, countersign it again."
    )


def section(step: RenderedStep) -> str:
    """A step's section of a reference solution; what it sets stays its own."""
    return f"# envolve: step {step.step.id}\n(\nset +eu +o pipefail\n{step.solution.strip()}\n)\n"


def unsealing(path: str, key: Checkpoint) -> str:
    """The shell line that opens a sealed input."""
    return f'python3 -I -S {HOME}/{UNSEAL} {shlex.quote(path)} "$({key.command} 2>/dev/null)"\n'


def countersigning(path: str, figure: Checkpoint, target: str) -> str:
    """The shell line that countersigns an output."""
    digest = f"$(sha256sum < {shlex.quote(path)} | cut -c1-64)"
    return f'printf \'%s:%s\' "$({figure.command} 2>/dev/null)" "{digest}" | sha256sum | cut -c1-64 > {target}\n'


def countersign_check(step_id: str, path: str, figure: Checkpoint, target: str) -> str:
    """The check of a countersignature, over the file as it is now."""
    return (
        f"def check_countersigned_{re.sub(r'[^a-z0-9]', '_', step_id)}():\n"
        f"    digest = hashlib.sha256(Path({path!r}).read_bytes()).hexdigest()\n"
        f"    want = hashlib.sha256(({figure.value + ':'!r} + digest).encode()).hexdigest()\n"
        f"    assert load_lines({target!r}) == [want], {f'{target} does not countersign {path}'!r}\n"
    )


def restored_check(path: str, sha256: str) -> str:
    """The check that a sealed input was opened."""
    return (
        "def check_unsealed():\n"
        f"    digest = hashlib.sha256(Path({path!r}).read_bytes()).hexdigest()\n"
        f"    assert digest == {sha256!r}, {f'{path} is not what was sealed'!r}\n"
    )


def countersign_target(step_id: str) -> str:
    """Where a countersignature goes."""
    return f"{OUT}/{step_id}-countersign.txt"
