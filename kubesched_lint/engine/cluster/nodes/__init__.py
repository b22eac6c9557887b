"""The nodes of a cluster by their labels and taints, what autoscalers made, and what machine types offer."""
