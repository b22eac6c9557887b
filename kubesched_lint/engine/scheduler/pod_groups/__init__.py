"""Gangs: one cycle places all pods of a group or none (``pod_groups``), by the best ``placement_scores``."""
