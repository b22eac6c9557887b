"""Sketches: a cluster in a few lines, read and written."""
