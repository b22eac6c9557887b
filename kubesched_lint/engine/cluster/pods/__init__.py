"""The running pods of a cluster: whose they are, which are equal, and what webhooks have changed in them."""
