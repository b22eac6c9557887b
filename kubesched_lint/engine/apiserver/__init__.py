"""The API server's refusals in its words: strict decoding and every rule of the kinds that the linter reads.

Read ``validate``, then ``values``, ``pods`` and ``objects``.
"""
