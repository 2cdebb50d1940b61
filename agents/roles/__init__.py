"""The roles: small classes of prompt files, tools and an output schema; a session is one conversation of a role."""
