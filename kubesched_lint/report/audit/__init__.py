"""The report of ``audit``."""
