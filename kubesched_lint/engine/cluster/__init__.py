"""A cluster as the scheduler sees it: nodes, pods and volumes, indexed once, and the state that pods change.

Read ``nodeset``, ``nodes``, ``selecting``, ``pods`` and ``storage``, then ``cluster`` (what is known) and ``state``
(what pods change).
"""
