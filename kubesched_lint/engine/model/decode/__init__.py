"""Decode plain values into the model, with the API server's defaults.

Read ``fields``, ``pods`` and ``workloads``, then ``objects``, which knows all kinds.
"""
