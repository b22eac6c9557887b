"""The report of ``drain``."""
