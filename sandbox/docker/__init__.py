"""The reference back end: every sandbox is one Docker container of a real engine (`--sandbox docker`).

Comes in: tasks, with any Dockerfile. Goes out: sandboxes as `sandbox.protocol` has them. The engine is asked
through its socket (`DOCKER_HOST` is respected); all it makes carries labels, and what a dead process left is swept
at the next start.

What holds a command in: the container's name spaces and control groups, Docker's default capabilities and system
call filter, and by default no network at all. No device, no privilege and no socket of this machine is handed in.

How it reaches inside: files go in and out as archives that the engine packs and unpacks within the container's own
root, and changes are told by the engine, so no program of the image (or of the agent) is asked. A tree is removed
by laying an empty file over it. That file itself, and processes, are reached from this machine where the engine is
local and this user is root (or the engine is rootless and ours). Elsewhere, the file is removed by the sandbox's
own `/bin/rm`, looked after, and processes are killed by killing the whole container and starting it again: a
time-out then also ends what other commands left in the background, and `/dev/shm` is lost.

What this does **not** protect against:

* Holes in the kernel. All sandboxes share it with this machine. Do not run code of somebody who would spend a kernel
  exploit on you; an engine with gVisor or Kata as its default runtime is used as it is.
* Whoever may speak to the engine: that is root on its machine. The engine's socket is never inside a sandbox.
* A process that hides whose it is. One that left its session and whose parent has ended belongs to nobody; a time-out
  kills those that began since the command did, also when another command beside it started them.
* A full disk. Where the storage driver has no quotas (overlay2 on anything but XFS with pquota) what a sandbox writes
  is measured twice a second at most, and its processes are killed when it is too much: a fast writer is over by what
  it writes in that time. Writes to `/dev/shm` count as memory.
* An agent that is root and kills the first process of its own container: all commands in it end with status 137, and
  the container is started again with its files.
* An `/etc/passwd` that is a pipe: the engine reads it to find a user, and a command that names one waits for its
  time-out.
* Folders that an image declares as `VOLUME`: what is written there is in no snapshot and no list of changes.
* Side channels and noisy neighbours.
"""
