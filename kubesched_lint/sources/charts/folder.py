"""The folder of pulled charts: one archive a file, named after its SHA-256 digest."""

from __future__ import annotations

import os
from hashlib import sha256

from kubesched_lint.files import content_in, own_folder
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.writing import put_in

_SUFFIX = ".tgz"


def archive(folder: str, digest: str) -> bytes | None:
    """Return the archive with this digest; None if the folder has none, or a file with other contents."""
    try:
        with own_folder(folder) as handle:
            data = content_in(handle, f"{digest}{_SUFFIX}", LARGEST_OUTPUT)
    except (OSError, ValueError):
        return None
    return data if sha256(data).hexdigest() == digest else None


def keep(folder: str, data: bytes) -> str:
    """Write an archive, whole or not at all, and return its digest. Raises OSError."""
    digest = sha256(data).hexdigest()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with own_folder(folder) as handle:
        put_in(handle, f"{digest}{_SUFFIX}", data)
    return digest
