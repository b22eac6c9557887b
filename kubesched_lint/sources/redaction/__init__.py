"""Pseudonyms for the names in a snapshot."""
