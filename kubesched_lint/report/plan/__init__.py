"""The report of ``plan``."""
