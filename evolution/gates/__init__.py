"""Gates: each proves one thing about a candidate environment by reading or running it. One file per gate.

`panel` asks them, cheap ones first, and cancels at the first failure; `evolution.verdict` holds what they are shown and
what they say. Beside each gate lie the parts it reads with (`leak_secrets`, `rubric_rules`, `renaming`, …).
"""
