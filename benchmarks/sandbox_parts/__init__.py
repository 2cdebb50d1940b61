"""The parts of `benchmarks/sandboxes.py`."""
