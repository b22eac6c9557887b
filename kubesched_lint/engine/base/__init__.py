"""What all parts of the engine share: places, texts, limits of work, versions of Kubernetes.

Read ``places``, ``releases``, ``quirks`` and ``work``.
"""
