"""Limits of reports; each says how many more there are."""

from __future__ import annotations

MOST_LINES = 20
"""Lines of a list in a terminal or a comment; JSON has all. Of more rows of a matrix, those that are ok are counted."""
MOST_ROWS = 50
"""Rows of a table, and places of a cause; JSON has all."""
MOST_FULL = 1_000
"""Causes that the HTML page shows in full; of others there is one line each."""
MOST_SHORT = 5_000
"""Causes with one line on the HTML page; the others are counted."""
LONGEST_MATRIX = 20_000
"""Characters of the matrix in a comment; a line says how many workloads are left out."""
