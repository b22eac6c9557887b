"""The objects that the scheduler sees, with Kubernetes' own names."""
