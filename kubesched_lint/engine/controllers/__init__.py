"""Workload controllers as pure functions: from existing and desired state to the actions of one sync."""
