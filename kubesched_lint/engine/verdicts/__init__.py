"""Verdicts on every event of every workload: the matrix, tested and weighed, that every command reads."""
