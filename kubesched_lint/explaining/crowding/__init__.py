"""Pods that keep each other from nodes: by ports, anti-affinity, spread, or because a set is too large.

Read ``ports``; each other module explains one reason, too.
"""
