"""Objects of a cluster as plain values or JSON, collected one by one into a ``Cluster``."""
