"""Read files into documents, and documents into values with known positions.

Read ``loader``, ``files`` and ``document``, then ``yaml`` and ``kustomize``.
"""
