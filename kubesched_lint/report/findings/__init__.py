"""The findings of a run in every format.

Read ``formats`` and ``context``, then ``as_text``.
"""
