"""Verification: a task's tests judge what an agent left, and nothing it left judges instead of them.

`verify` is the door. Where the tests run is the task's to say:

* `shared`, Harbor's default: in the agent's own sandbox.
* `fresh` (`[metadata] verification = "fresh"`): in a clean sandbox of the image. Only the `artifacts` that `task.toml`
  declares and `/logs/artifacts` are carried over: plain files, folders, and links that stay among them or lead to the
  image's own programs; no set-user bits, at most a GiB. In plain Harbor the same task runs `shared`.
* `separate` (`[verifier] environment_mode`): in an environment of the verifier's own, as in Harbor.

What holds in every mode:

1. Every process of the agent is dead before the tests run, and every process of the tests before the reward is read.
2. `/logs`, `/logs/verifier` and `/tests` are made real, empty folders; what stood there is reported.
3. The tests come from the task, never from the sandbox; `Verification.tests_sha256` says which.
4. The tests see the image's variables, without those that load code, and those of `task.toml`; none of the agent's.
   Python neither reads compiled modules that lie around nor packages in root's home folder, and pytest's search for
   settings ends in `/tests`.
5. The reward is read from outside, with a cap, by Harbor's rules. A verifier that breaks gives no reward, never a 0.

What an agent leaves in place of the image's own (tools, libraries, Python's and pytest's start-up files, settings: see
`kinds`) is named in `Verification.leftovers`. Where it is suspicious the tests run twice: once with the image's own put
back, in a copy of the sandbox; the lower reward counts, and a reward that is had only with the agent's is none. Work
that *is* such a change is excused where the task says so: `[metadata] installs = ["jq", "/etc/profile.d"]` lists tools,
packages or paths; for most kinds the instruction or the reference solution naming the file is enough. Installing
something new beside the image's own is no suspicion.

What this does not protect against:

* In `shared` and `separate` mode, and in `fresh` for what is carried: the agent's program rewriting `/logs/verifier` or
  `/tests` while the tests themselves run it, as the same user. Processes that outlive such a run are killed and
  counted (`survivor`); what one did before is not undone.
* In `shared` mode: programs that the tests call by a path in the working directory, or through a virtual environment
  that the agent made. They are its work, and are not put back.
* A suspicious change of a kind that no rule knows: data files of a tool, plug-ins of programs other than pytest,
  modules of perl, ruby or node that are added rather than changed.
* Tests that can be satisfied without the work, or that take their expectations from files the agent can change.
* Back ends that cannot tell what changed, or have no snapshots: the leftover `unseen` says that nothing was compared.
"""
