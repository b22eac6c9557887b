"""Exceptions that somebody has granted: ``exceptions`` reads reason, end and owner, ``waiver`` is one in a manifest."""
