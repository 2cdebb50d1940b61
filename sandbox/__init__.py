"""Where a task lives and where it runs: the Harbor format, one sandbox protocol, back ends, verification, trials.

What may come in: values of the Harbor format (`task`), the sandbox protocol and its back ends, what builds their
root file systems (`images`), what runs a verifier and reads its reward (`verification`). Nothing here knows of
generations, agents or training; this room imports from no other.

envolve room: sandbox
"""
