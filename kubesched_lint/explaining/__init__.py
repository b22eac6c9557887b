"""Words for verdicts: what rules share to say why, where, and what to do. No module proves anything.

Read ``ends``, the bad cells, and ``sizes``, then the folder of a reason.
"""
