"""A node as the scheduler sees it, and the controllers that label nodes."""
