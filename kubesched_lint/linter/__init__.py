"""Run the rules on a manifest set and a cluster: findings with severity, text, place and suppression.

Read ``lint``, then ``linted``, what its callers get, and ``results``.
"""
