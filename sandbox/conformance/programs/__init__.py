"""Programs that checks run inside a sandbox, each a file of its own; standard library only, any Python from 3.8 on."""
