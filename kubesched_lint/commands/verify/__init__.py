"""``verify``: compare our predictions with recorded decisions, admissions, lifecycles and deployments.

Read ``run`` and ``recordings``, then the module of one kind of recording.
"""
