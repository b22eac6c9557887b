"""The command ``drain``: waves of nodes to drain one after another, or what makes that impossible.

Read ``run``, ``plan`` and ``search``, then ``obstacles`` and ``room``.
"""
