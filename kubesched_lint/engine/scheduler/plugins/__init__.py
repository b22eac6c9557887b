"""The filter plugins of kube-scheduler, under the same names: one module each, the short ones in ``single_node``.

Read ``verdict`` and ``single_node``, then any other.
"""
