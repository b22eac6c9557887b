"""A faithful model of kube-scheduler's default profile; the only place that decides whether a pod fits a node."""
