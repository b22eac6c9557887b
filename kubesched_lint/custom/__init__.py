"""Custom resources that make pods: workload cards say which plain workloads they stand for."""
