"""``audit``: what is wrong in a cluster as it runs.

Read ``run`` and ``running_cluster``; each other module is one question about such a cluster.
"""
