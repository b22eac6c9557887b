"""What the API server refuses in the spec of a pod.

Read ``pods``, then ``podspec`` and ``containers``.
"""
