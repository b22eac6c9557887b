"""From documents to a manifest set. Read ``manifest_set``; it calls the others."""
