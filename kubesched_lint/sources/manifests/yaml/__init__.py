"""From text to values with their places: the fast reader, the full one, and how documents are parted.

Read ``fragments`` and ``places``, then ``fast_reader`` and ``full_reader``.
"""
