"""Whether a gang fits."""
