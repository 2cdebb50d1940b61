"""Runs tasks in the E2B cloud, or in anything else that speaks its API, through the `e2b` package as it is.

What is in the room: the back end and its sandbox, commands with a time-out that holds, files through the service's own
file API, process killing by a script of shell builtins, images as snapshots of a template, and the labels by which a
dead owner's sandboxes are found. Imports nothing from other rooms of `sandbox` but the contract, tasks and images, and
the bubblewrap room's `Capture`.

What it does not protect against: an agent that is root in its sandbox may replace `bash`, `chmod` and `tar`, which this
room runs inside for what the API cannot do (ending a process tree, permissions, links, archives).
"""
