"""The default back end: every sandbox is one `bwrap` process, without a daemon and without root.

What holds a command in: its own user, mount, process, IPC, host-name and control-group name spaces, by default its
own empty network; Docker's default capabilities at most, valid inside its own user name space only; no new privileges;
no further user name spaces; a read-only `/proc/sys`; an overlay that takes all writes; memory, process and CPU limits
by control groups where this machine lets us create them.

What this does **not** protect against:

* Holes in the kernel. All sandboxes share it, and there is no system call filter and no virtual machine. Do not run
  code of somebody who would spend a kernel exploit on you.
* Reading the base. The `host` base shows the whole of this machine's `/usr` (never `/etc`, `/home`, `/root`, `/var`,
  `/run`): keep no secrets in `/usr`. Paths of the state directory can be seen in `/proc/mounts`, and the processor,
  the kernel, the load and the size of memory as well.
* Side channels and noisy neighbours: caches, disk bandwidth, CPU time where no control group could be made.
* A full disk. Single files are limited, all files together are not.
* `network="host"`: the command then sees every network of this machine, its loopback services and abstract sockets
  included.
* Without root, the files of the `host` base's /usr belong to nobody inside: root there replaces them, or adds others,
  but cannot write to them.
* Without control groups (`Capabilities.limits` says so) memory is limited for each process, not for all together.
* Commands of one sandbox against each other: they may signal each other, and the process that watches over each
  command. Killing that watcher ends every command of that sandbox, none elsewhere.
"""
