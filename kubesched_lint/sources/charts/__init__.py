"""Charts of Helm that were pulled once: which ones, under which digest, and what Helm makes of them without network."""
