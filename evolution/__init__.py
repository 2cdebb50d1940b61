"""The domain: sequences, axes, plans, difficulty, gates, lineages, releases.

What may come in: values and pure functions of the method (*Environment Evolution*), the gates that prove a task
sound, and what a run keeps on disk. Nothing here knows LangGraph or a model; where judgement is needed, a protocol
is declared here and `graphs` hands in the thing.

envolve room: evolution
"""
