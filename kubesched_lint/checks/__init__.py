"""One module per rule, named after its card."""
