"""The objects that the scheduler sees, with Kubernetes' own names.

Read ``labels``, ``pod``, ``workloads`` and ``nodes``, then ``inventory``; ``decode`` makes them.
"""
