"""Lines of rendered output, and the lines of the source that they come from."""
