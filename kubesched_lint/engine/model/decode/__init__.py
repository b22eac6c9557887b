"""Decode plain values into the model, with the API server's defaults."""
