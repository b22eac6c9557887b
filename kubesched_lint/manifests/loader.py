"""From paths to documents: a first, plain loader."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Document, Skipped, Unread

IsRead = Callable[[object, object], bool]


@dataclass(frozen=True, slots=True)
class InputFile:
    path: str
    data: bytes


def find_files(paths: Sequence[str]) -> Iterator[InputFile | InputError]:
    for path in paths:
        if path == "-":
            yield InputFile("<stdin>", sys.stdin.buffer.read())
        elif os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders.sort()
                for name in sorted(files):
                    if name.endswith((".yaml", ".yml", ".json")):
                        full = os.path.join(folder, name)
                        with open(full, "rb") as file:
                            yield InputFile(full, file.read())
        elif os.path.exists(path):
            with open(path, "rb") as file:
                yield InputFile(path, file.read())
        else:
            yield InputError(path, "no such file or folder")


def documents(path: str, data: bytes, is_read: IsRead) -> Iterator[Document | Unread | Skipped | InputError]:
    import yaml

    text = data.decode()
    line = 1
    for index, part in enumerate(re.split(r"(?m)^---(?=[ \t\n]|$)", text)):
        start, line = line, line + part.count("\n")
        try:
            value = yaml.load(part, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = (mark.line + start, mark.column + 1) if mark else (start, 1)
            yield InputError(path, f"not YAML: {getattr(error, 'problem', error)}", *where)
            continue
        if value is None:
            continue
        if not isinstance(value, dict):
            yield InputError(path, "not an object", start, 1)
            continue
        kind, version = value.get("kind"), value.get("apiVersion")
        if kind == "List":
            for i, item in enumerate(value.get("items") or ()):
                if is_read(item.get("apiVersion"), item.get("kind")):
                    yield Document(path, index, item["kind"], item["apiVersion"], item, part, start, ("items", i))
        elif is_read(version, kind):
            yield Document(path, index, kind, version, value, part, start)
        else:
            yield Unread(path, start, str(kind), str(version))


def source_lines(path: str) -> Sequence[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return ()
