"""Whether a set fits together, by necessary conditions: counting, and an integer programme."""
