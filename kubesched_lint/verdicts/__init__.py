"""Verdicts on every event of every workload in a world: the table that ``lint`` and ``simulate`` read."""
