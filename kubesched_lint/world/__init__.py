"""The world in which every question is answered: manifests laid over a cluster, and each workload in it."""
