"""``fleet``: one set of manifests against many clusters."""
