"""``plan``: what a change of the manifests does to each workload.

Read ``run``, ``sides`` and ``changes``, then ``judging`` and ``comparing``.
"""
