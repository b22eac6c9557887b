"""Which devices the scheduler allocates to a pod's claims on a node."""
