"""Which objects are applied together. Read ``alternatives``, then ``variants`` and ``environments``."""
