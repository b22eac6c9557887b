"""Files of data that this package ships."""

from __future__ import annotations

import os


def shipped(module: str, name: str) -> bytes:
    """Return a file by its path from the folder of a module: ``shipped(__file__, "data/machines.json")``."""
    with open(os.path.join(os.path.dirname(module), name), "rb") as file:
        return file.read()
