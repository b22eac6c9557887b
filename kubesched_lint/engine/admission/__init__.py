"""The API server's admission plugins: which pods are created, and how they are stored."""
