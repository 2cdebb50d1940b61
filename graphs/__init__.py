"""LangGraph state machines: who acts when, and with which budget.

What may come in: `build_*` functions that return uncompiled `StateGraph`s whose roles, gates and sandboxes the caller
can replace. State holds small values and paths, never transcripts.

envolve room: graphs
"""
