"""Reports word and place findings; nothing in a report was not in a finding.

Read ``wording`` and ``terminal``, then ``findings``, which has the formats.
"""
