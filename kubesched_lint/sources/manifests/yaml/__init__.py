"""From text to values with their places: the fast reader, the full one, and how documents are parted."""
