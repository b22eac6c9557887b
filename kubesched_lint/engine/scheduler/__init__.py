"""A faithful model of kube-scheduler's default profile; the only place that decides whether a pod fits a node.

Read ``framework`` and ``plugins``, then ``scoring`` and ``scores``, ``binding``, ``preemption`` and ``pod_groups``.
"""
