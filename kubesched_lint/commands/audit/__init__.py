"""``audit``: what is wrong in a cluster as it runs."""
