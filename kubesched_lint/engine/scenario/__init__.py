"""A scenario: manifests laid over a cluster, each workload in it, and every question about them.

Read ``scenario``, then ``others``, ``nodes``, ``storage`` and ``premises``.
"""
