"""The findings of a run in every format."""
