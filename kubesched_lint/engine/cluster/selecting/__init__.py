"""Selectors: ``labelled`` finds what one selects, ``postings`` who selects a pod."""
