"""The configuration file of kube-scheduler, and what kube-scheduler refuses in it."""
