"""Which pods are created at all, and how they are stored: what the API server's admission plugins do."""
