"""Where an event begins: the set, who can affect whom, and what quotas, preemption and revisions allow.

Read ``simulated_set``, then ``evictable_pods``, ``quotas``, ``preemption_scope`` and ``groups``.
"""
