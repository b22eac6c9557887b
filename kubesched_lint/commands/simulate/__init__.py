"""``simulate``: the possible results of each event for each workload."""
