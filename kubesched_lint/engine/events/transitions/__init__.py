"""What may happen next in a state: the scheduler binds or evicts, a controller acts, a node leaves.

Read ``placement_model`` and ``transitions``; the others are one kind of change each.
"""
