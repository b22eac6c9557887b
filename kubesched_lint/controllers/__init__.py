"""Workload controllers as pure functions: from what exists and what is wanted to what one sync would do."""
