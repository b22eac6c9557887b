"""From URIs to paths: a client may send any text as a URI, and name any file by one."""

from __future__ import annotations

import os
import stat

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path


def file_of(uri: str) -> str:
    """Return the path of a document without links; empty for what is in no file. Raises JsonRpcInvalidParams."""
    path = _path(uri)
    if path and not _is_file_or_new(path):
        raise JsonRpcInvalidParams(f"{uri!a} names no file, but a folder or a device")
    return path


def folder_of(uri: str) -> str:
    """Return the path of an open folder, like ``file_of``; never the whole disk."""
    path = _path(uri)
    if path and os.path.dirname(path) == path:
        raise JsonRpcInvalidParams(f"{uri!a} is the whole disk, which is not searched: open a folder of manifests")
    return path


def check_uris(params: object) -> None:
    """Raise JsonRpcInvalidParams if a URI anywhere in the parameters cannot be read as one."""
    left = [params]
    while left:
        params_left = left.pop()
        if isinstance(params_left, dict):
            left += params_left.values()
            for name, value in params_left.items():
                if isinstance(value, str) and (name == "uri" or name.endswith("Uri")):
                    _path(value)
        elif isinstance(params_left, list):
            left += params_left


def _path(uri: str) -> str:
    try:
        path = to_fs_path(uri)
        return os.path.realpath(path) if path else ""
    except ValueError as error:  # no address, a NUL character, or half of a surrogate pair
        raise JsonRpcInvalidParams(f"{uri!a} is no URI of a file: {error}") from None


def _is_file_or_new(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True
