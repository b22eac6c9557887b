"""One card. Read ``card``; ``frontmatter`` and ``fits`` check what is written in it."""
