"""Seeded runs of a whole set, the ends that they and searches find, and what they show."""
