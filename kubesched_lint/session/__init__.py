"""A warm session: what an editor or ``--watch`` keeps between two runs over the same files."""
