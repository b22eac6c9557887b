"""``lint``: files and cluster in, one report out."""
