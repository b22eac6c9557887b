"""Which devices the scheduler allocates to a pod's claims on a node.

Read ``attempt``, ``answers`` and ``allocator``, then ``life``; ``groups`` counts without allocating.
"""
