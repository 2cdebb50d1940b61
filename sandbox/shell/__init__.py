"""A person in a sandbox: a real terminal where the back end has one, lines of commands where it has not."""
