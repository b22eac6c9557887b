"""Devices, their classes and claims (``devices``), and the language that selects them (``cel``)."""
