"""The report of ``check``."""
