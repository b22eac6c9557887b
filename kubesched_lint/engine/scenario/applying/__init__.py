"""The order in which objects are created, and the phases of tools that wait for each other."""
