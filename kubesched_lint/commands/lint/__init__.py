"""``lint``: files and cluster in, one report out.

Read ``run``, ``known`` and ``past``, then ``request`` and ``cache``, which stand before them.
"""
