"""Programs put into tasks (`unseal`, `weigh`) or run in the author's sandbox (`try_task.sh`); never imported."""
