"""The configuration file. Read ``keys``, ``file`` (where it is) and ``reading``."""
