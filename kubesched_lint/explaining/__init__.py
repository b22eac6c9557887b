"""Words for verdicts: what rules share to say why, where, and what to do. No module proves anything."""
