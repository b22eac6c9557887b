"""Why the devices of nodes do not suffice."""
