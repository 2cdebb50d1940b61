"""Parts of `benchmarks/gates.py`."""
