"""Which devices a request selects: ``selectors`` asks, ``cel`` evaluates."""
