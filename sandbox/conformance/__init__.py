"""What `sandbox.protocol` promises, as checks that every back end passes: `python -m sandbox.check NAME`.

Comes in: a back end by name. Goes out: a report, one outcome for each check. A check is a plain coroutine in one of the
theme modules (`commands`, `streams`, `timeouts`, …); no test framework is needed to run it.
"""
