"""Files to documents to values whose places are known."""
