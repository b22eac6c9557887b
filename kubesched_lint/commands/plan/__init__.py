"""``plan``: what a change of the manifests does to each workload."""
