"""The command line: thin commands that import what they need when they run."""
