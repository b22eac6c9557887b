"""Folders and archives of charts: what Helm would read, and what prevents it."""
