"""One rollout and its verification: an agent works in a sandbox of a task, step by step, and the verifier judges."""
