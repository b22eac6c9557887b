"""Kustomizations: the files that belong to one, a safe copy of them, and what a tool makes of it."""
