"""The cluster a manifest set is held against: snapshot, indexes and mutable state."""
