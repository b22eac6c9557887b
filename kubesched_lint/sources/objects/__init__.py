"""Objects of a cluster file, collected one by one into a cluster."""
