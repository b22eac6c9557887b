"""A text report on a terminal: widths, colours, and the same text in a notebook."""
