"""``lint --fix`` and ``--diff``: changes of the manifests that remove findings."""
