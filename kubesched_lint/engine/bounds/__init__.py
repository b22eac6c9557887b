"""Bounds by counting, valid for every scheduler and every order: the most and the least pods that run in the end."""
