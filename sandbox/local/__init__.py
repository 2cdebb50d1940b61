"""The local back end: commands on this very machine, as this user, with NO ISOLATION WHATSOEVER.

It is for a process that already runs inside a sandbox of its own (an agent in a task's container, as Harbor's
LangGraph agent is) and wants the same protocol there. A command can read, change and remove everything that this user
can; `rm -rf ~` removes your home folder. So it starts only when it is told that this machine is one that may be lost:
`LocalBackend(i_am_in_a_sandbox=True)` or ENVOLVE_LOCAL=1. That the process sits in a container is not enough: your
checkout may be mounted there.

What it does give: time-outs and `kill_processes` that end whole process trees, capped output, limits for each process
(file size, open files) and for all together (memory, processes, cpus) where control groups can be made.

What it cannot: isolation, networks other than `host`, other users, snapshots, `changed_files`, a limit on storage. A
task's image is not built: the machine is the image, see `sandbox.local.machine`.

Processes are found by a variable in their environment, by their parents, and by control groups where some can be made.
Without control groups, a process that empties its environment *and* leaves its parents gets away, and one that forks
and ends on and on may.
"""
