"""What is known of a scenario besides manifests and cluster."""
