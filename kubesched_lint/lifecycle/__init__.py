"""Simulated events: the sets of outcomes of deploying, rolling out, scaling, draining and losing nodes."""
