"""Remedies that several rules share: each says what to change in an object, never how that is written."""
