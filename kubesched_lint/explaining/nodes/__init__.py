"""Nodes that a workload misses, and nodes that pools would add."""
