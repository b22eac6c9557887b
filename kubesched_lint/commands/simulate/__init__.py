"""``simulate``: the matrix of what may happen to each workload at each event."""
