"""Verdicts on every event of every workload: the matrix, tested and weighed, that every command reads.

Read ``matrix``, ``what_if`` and ``refuting``, then ``table``, which every command asks.
"""
