"""What is not known of nodes, or comes later: what a sketch leaves out, what the set itself adds."""
