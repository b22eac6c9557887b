"""From the bytes of a file to documents: each one is read for itself, so that a broken one hides no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubesched_lint.findings import InputError, Path
from kubesched_lint.manifests.building import BuildError, build
from kubesched_lint.manifests.document import Document, Skipped, Unread
from kubesched_lint.manifests.files import STDIN, InputFile, find_files
from kubesched_lint.manifests.recognise import HELM, is_templated, patch_reason, plain_kind, wraps_pod_template

__all__ = ["InputFile", "documents", "documents_of", "find_files", "source_lines"]

IsRead = Callable[[object, object], bool]
"""Whether a kind, given as apiVersion and kind, is one that is decoded."""
Entry = Document | Unread | Skipped | InputError

_MARKER = re.compile(r"^---(?=[ \t\r\n]|$)", re.MULTILINE)


def documents_of(file: InputFile, is_read: IsRead) -> Iterator[Entry]:
    """The documents of a file that ``find_files`` found."""
    return documents(file.path, file.data, is_read, patch_of=file.patch_of, in_kustomization=file.in_kustomization)


def documents(
    path: str, data: bytes, is_read: IsRead, *, patch_of: str = "", in_kustomization: bool = False
) -> Iterator[Entry]:
    """Every document of a file: to be read, to be counted, to be passed over, or broken (at its line and column)."""
    text = _text(path, data)
    if isinstance(text, InputError):
        yield text
        return
    if patch_of:
        yield Skipped(path, 1, patch_reason(None, patch_of, in_kustomization) or "")
        return
    is_json = path.endswith(".json") or (path == STDIN and text.lstrip()[:1] == "{")
    for index, (part, line) in enumerate([(text, 1)] if is_json else _parts(text)):
        entries = list(_document(path, index, part, line, is_read, is_json, in_kustomization))
        yield from entries
        if any(isinstance(e, Skipped) and e.reason is HELM for e in entries):
            return  # one line for a file of templates is enough


def _text(path: str, data: bytes) -> str | InputError:
    """UTF-8, with or without a byte order mark, or UTF-16 with one; line ends as one newline."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = data.decode("utf-16")
        else:
            text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8", "replace")
        line = good.count("\n") + 1
        return InputError(path, f"not UTF-8: byte 0x{data[error.start]:02x}", line, len(good) - good.rfind("\n"))
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Documents with the line each begins in; a marker ``---`` in column 0 parts them, in block scalars too."""
    start, line = 0, 1
    for marker in _MARKER.finditer(text):
        if marker.start() > start:
            yield text[start : marker.start()], line
            line += text.count("\n", start, marker.start())
        start = marker.start()
    if start < len(text):
        yield text[start:], line


def _document(
    path: str, index: int, text: str, line: int, is_read: IsRead, is_json: bool, in_kustomization: bool
) -> Iterator[Entry]:
    known = None if is_json else plain_kind(text)
    if known is not None and not is_read(*known) and not known[1].endswith("List"):
        yield Unread(path, line, known[1], known[0], wraps_pod_template(text))
        return
    try:
        value = _json(text) if is_json else build(text, line)
    except BuildError as error:
        if is_templated(text):
            yield Skipped(path, line, HELM)
        else:
            yield InputError(path, error.message, error.line, error.column)
        return
    if value is None:
        return
    reason = patch_reason(value, "", in_kustomization)
    if reason is not None:
        yield Skipped(path, line, reason)
        return
    yield from _objects(path, index, text, line, value, (), is_read)


def _objects(path: str, index: int, text: str, line: int, value: Any, prefix: Path, is_read: IsRead) -> Iterator[Entry]:
    """The object, or the items of a List, one by one."""
    if not isinstance(value, dict):
        yield Unread(path, line, "")
        return
    kind, version = value.get("kind"), value.get("apiVersion")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list) and len(prefix) < 8:
        for i, item in enumerate(value["items"]):
            if isinstance(item, dict) and kind != "List" and isinstance(version, str):
                item = {"apiVersion": version, "kind": kind.removesuffix("List"), **item}
            yield from _objects(path, index, text, line, item, (*prefix, "items", i), is_read)
    elif is_read(version, kind):
        assert isinstance(kind, str)
        assert isinstance(version, str)
        yield Document(path, index, kind, version, value, text, line, prefix)
    else:
        name = kind if isinstance(kind, str) else ""
        yield Unread(path, line, name, version if isinstance(version, str) else "", wraps_pod_template(text))


def _json(text: str) -> Any:
    """Raises BuildError, also for keys written twice and for nesting beyond reason."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(n for n in names if names.count(n) > 1)
            raise BuildError(f"the key {twice!r} is written twice: kubectl refuses it", 1, 1)
        return found

    try:
        return json.loads(text, object_pairs_hook=once) if text.strip() else None
    except json.JSONDecodeError as error:
        raise BuildError(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise BuildError("not JSON that anybody writes: nested too deep", 1, 1) from None


def source_lines(path: str) -> Sequence[str]:
    """The lines of a file for a report's frames; none when it can no longer be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline=None) as file:
            return file.read().split("\n")
    except OSError:
        return ()
