"""The bad ends that the table of verdicts proves, and what rules say of them."""
