"""The roles that think: proposer, critic, evolver; their prompts and tools; the gateway to any model.

What may come in: a role (prompt files + tools + output schema), a tool an agent can use in its sandbox, the one file
that knows LiteLLM (`model`), and the embedded author (`embedded`), a deterministic model that needs no key.

envolve room: agents
"""
