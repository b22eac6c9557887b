"""Placing the pods of a set: in trials, one after another, together, and on nodes that pools add.

Read ``placing``, the loop, ``trial`` and ``attempts``, then ``scenarios``, ``growth`` and ``together``.
"""
