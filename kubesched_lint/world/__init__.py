"""The world that every question is asked of: manifests laid over a cluster, and each workload in it."""
