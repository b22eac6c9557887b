"""Sketches: a cluster in a few lines, read and written.

Read ``sketch`` and ``fields``, then ``sketching``, which writes one.
"""
