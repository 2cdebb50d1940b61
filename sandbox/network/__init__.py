"""What a sandbox may reach: a proxy that lets listed hosts through and nothing else."""
