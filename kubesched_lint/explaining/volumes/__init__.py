"""Why volumes keep pods from nodes."""
