"""Cluster files: what kubectl prints, snapshots, sketches, the node groups of Terraform."""
