"""Reports word and place findings; nothing in a report was not in a finding."""
