"""Parts of `benchmarks/generation_modes.py`."""
