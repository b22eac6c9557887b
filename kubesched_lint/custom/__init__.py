"""Custom resources that make pods: workload cards say which plain workloads they stand for.

Read ``card``, ``loading`` and ``expression``, then ``derive`` and ``blame``.
"""
