"""What a repository says of itself: its configuration, its baseline, what git shows as changed."""
