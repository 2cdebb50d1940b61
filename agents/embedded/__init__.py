"""The embedded author: a deterministic "model" that needs no key, no network and no download.

It reads the messages, the tools and the seed that any model gets and answers with the tool calls of a proposer, a
critic or an evolver; what it knows how to write is in `library`. It has no other door into a run: no files, no
environment variables, no state. `provider` plugs it into LiteLLM, `serve` puts it behind an OpenAI-compatible address.
"""
