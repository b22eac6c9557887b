"""The cluster that the manifests are checked against: snapshot, indexes and mutable state."""
