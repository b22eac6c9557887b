"""Facts about workloads on a cluster, computed once and shared by rules."""
