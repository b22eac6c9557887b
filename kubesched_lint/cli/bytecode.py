"""Import our modules from one file.

Python looks for each module in its folder and opens a file of bytecode for it: about ten system calls, and together a
seventh of what ``lint`` needs for one file. Here one file keeps the bytecode of all modules that earlier runs imported.
It lies in ``__pycache__`` beside Python's own files and follows their rule: bytecode counts as long as its source has
the modification time and the size that it was compiled from. Where it does not help, Python imports as always.
"""

from __future__ import annotations

import os
import sys
from marshal import dumps, loads
from types import ModuleType
from typing import TYPE_CHECKING, Any

import kubesched_lint

try:
    # importlib.machinery takes them from here, but imports warnings as well, which takes half a millisecond.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import SourceFileLoader
except ImportError:  # not CPython
    from importlib.machinery import ModuleSpec, SourceFileLoader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

_PREFIX = f"{kubesched_lint.__name__}."
_FOLDER = f"{os.path.dirname(os.path.abspath(kubesched_lint.__file__))}/"
_FORMAT = 1
"""Raise it when the index changes its form."""
_MAKER = (_FORMAT, sys.version, _FOLDER)
"""Bytecode of another Python differs; that of another folder names other files in tracebacks."""
_HEAD = 8
"""Digits at the start of the file: the length of the index that follows them."""
_LAST_STREAM = 2
"""The descriptor of standard error."""
_Entry = tuple[int, int, str, int, int]
"""Of a module: where its bytecode starts, and how long it is; the path of its source below the folder, the source's
modification time (ns) and size (bytes)."""
_Part = tuple[bytes, str, int, int]
"""Of a module: its bytecode, and what its entry says about its source."""


class Bundle:
    """A finder for ``sys.meta_path``: it finds the modules that the file at ``path`` has, and notes those it lacks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._index: dict[str, _Entry] = {}
        self._missed: set[str] = set()
        try:
            self._file = os.open(path, os.O_RDONLY)
            if self._file <= _LAST_STREAM:  # it took the place of a closed stream, which ``cli.ending`` fills next
                os.close(self._file)
                return
            length = int(os.read(self._file, _HEAD))
            maker, index = loads(os.read(self._file, length))
        except (OSError, EOFError, ValueError, TypeError):  # there is none, or not one of ours
            return
        self._start = _HEAD + length
        if maker == _MAKER:
            self._index = index

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return what ``importlib.machinery.PathFinder`` does, with a loader that reads this file, or None."""
        if not name.startswith(_PREFIX):
            return None
        entry = self._index.get(name)
        if entry is None or not _is_as_compiled(source := _FOLDER + entry[2], entry):
            self._missed.add(name)
            return None
        spec = ModuleSpec(name, _Loader(name, source, self, entry), origin=source)
        spec.has_location = True
        spec.cached = self.path
        if source.endswith("/__init__.py"):
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def code(self, name: str, entry: _Entry) -> CodeType | None:
        """Return a module's code; None, and note the module, if the file is damaged."""
        try:
            code: CodeType = loads(self._read(entry))
        except (OSError, EOFError, ValueError, TypeError):
            self._missed.add(name)
            return None
        return code

    def _read(self, entry: _Entry) -> bytes:
        # Without a position: forked processes share the open file.
        return os.pread(self._file, entry[1], self._start + entry[0])

    def save(self) -> None:
        """Write the file anew if this run imported modules that it lacks; do nothing where that is not allowed."""
        if sys.dont_write_bytecode or not self._missed:
            return
        try:
            self._add({name: found for name in self._missed if (found := _imported(name)) is not None})
        except (OSError, ImportError, SyntaxError):  # the folder is not ours to write, or a source changes right now
            pass

    def _add(self, parts: dict[str, _Part]) -> None:
        if not parts:
            return
        from kubesched_lint.writing import replacing

        for name, entry in self._index.items():
            if name not in parts and _is_as_compiled(_FOLDER + entry[2], entry):
                parts[name] = (self._read(entry), *entry[2:])
        index: dict[str, _Entry] = {}
        start = 0
        for name, (code, source, modified, size) in parts.items():
            index[name] = (start, len(code), source, modified, size)
            start += len(code)
        head = dumps((_MAKER, index))
        with replacing(self.path) as file:
            file.write(b"%0*d" % (_HEAD, len(head)))
            file.write(head)
            file.writelines(code for code, *_ in parts.values())


class QuietModule(ModuleType):
    """A module with no ``__getattr__`` of its own that does not word an error for each attribute that it lacks.

    Each ``from … import`` asks for ``__path__``. Without this, Python 3.11 words two errors that nobody sees, which is
    most of what an import in a function costs; later versions do not.
    """

    __getattribute__ = object.__getattribute__


class _Loader(SourceFileLoader):
    """Python's own loader, but for where the bytecode is."""

    def __init__(self, name: str, source: str, bundle: Bundle, entry: _Entry) -> None:
        self.name, self.path = name, source
        self._bundle, self._entry = bundle, entry

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None for Python's usual module, as for a package: it has a ``__path__``."""
        is_usual = spec.submodule_search_locations is not None or sys.version_info >= (3, 12)
        return None if is_usual else QuietModule(spec.name)

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.code(fullname, self._entry) or super().get_code(fullname)


def bundle() -> Bundle | None:
    """Import our modules through a bundle from now on; return None where Python keeps no bytecode in files."""
    own = kubesched_lint.__spec__.cached
    if own is None or not hasattr(os, "pread"):
        return None
    folder, name = os.path.split(own)
    found = Bundle(os.path.join(folder, name.replace("__init__", "modules").replace(".pyc", ".bundle")))
    sys.meta_path.insert(0, found)
    return found


def _is_as_compiled(source: str, entry: _Entry) -> bool:
    try:
        found = os.stat(source)
    except OSError:
        return False
    return found.st_mtime_ns == entry[3] and found.st_size == entry[4]


def _imported(name: str) -> _Part | None:
    """Return the part of a module that Python imported from one of our files. Raises OSError."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None or not isinstance(spec.loader, SourceFileLoader) or not spec.origin.startswith(_FOLDER):
        return None
    found = os.stat(spec.origin)  # before the bytecode is read: a change in between makes the entry stale, not wrong
    return dumps(spec.loader.get_code(name)), spec.origin.removeprefix(_FOLDER), found.st_mtime_ns, found.st_size
