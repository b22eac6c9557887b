"""What the API server refuses in objects other than pods, a module for each group of kinds."""
