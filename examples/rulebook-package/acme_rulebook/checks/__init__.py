"""One module a rule, named after its card."""
