"""Known faults, planted one at a time in sound tasks: how good the gates are is measured with them.

A *kind* of fault is a function that edits a `Draft` of a task; `planting` finds the kinds and plants one by a seed, so
that what was planted can be worked out again and has to be written down nowhere. Kinds in `independent/` come from
people who had not read the gates; results report them apart.

No gate, critic, prompt or graph may import this room: import-linter holds it.
"""
