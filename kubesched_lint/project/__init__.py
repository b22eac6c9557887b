"""The configuration of a repository, its baseline, and its changes in git."""
