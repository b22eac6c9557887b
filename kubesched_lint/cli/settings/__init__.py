"""What a run judges, from flags and configuration. Read ``settings``, ``targets`` and ``sets``, then ``pairs``."""
