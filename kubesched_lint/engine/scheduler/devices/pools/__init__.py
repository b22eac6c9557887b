"""What there is to allocate. Read ``pools``, ``taken``, then ``capacity`` and ``counters`` (shared devices)."""
