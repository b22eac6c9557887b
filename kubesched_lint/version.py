"""The version is a constant: reading package metadata would cost 44 ms at every start."""

__version__ = "0.2.0"
