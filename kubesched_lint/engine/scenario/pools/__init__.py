"""What pools offer, and the nodes that they could add."""
