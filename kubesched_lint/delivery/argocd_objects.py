"""Applications of Argo CD as objects, and those that an ApplicationSet makes of its generators."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from msgspec import Struct

from kubesched_lint.delivery.flux_objects import listed, mapping
from kubesched_lint.files import content, is_within
from kubesched_lint.findings import Location
from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.inputs import LARGEST
from kubesched_lint.manifests.kustomization import text_to_read, value_in
from kubesched_lint.manifests.limits import MOST_DEPTH, MOST_FOLDERS

APPLICATION = ("argoproj.io", "Application")
APPLICATION_SET = ("argoproj.io", "ApplicationSet")
IN_CLUSTER = "in-cluster"
_HERE = "https://kubernetes.default.svc"
_FIELD = re.compile(r"\{\{-?\s*\.?(?P<name>[\w.\[\]-]+)\s*-?\}\}")


class Application(Struct, frozen=True):
    """An Application; ``where`` is the place that names its folder."""

    name: str
    spec: Mapping[str, Any]
    where: Location

    @property
    def sources(self) -> list[Mapping[str, Any]]:
        several = [mapping(source) for source in listed(self.spec.get("sources"))]
        return several or [mapping(self.spec.get("source"))]

    @property
    def namespace(self) -> str:
        """The namespace of objects that name none."""
        return str(mapping(self.spec.get("destination")).get("namespace") or "default")

    @property
    def cluster(self) -> str:
        """The cluster that gets it, by its name or the host of its address."""
        destination = mapping(self.spec.get("destination"))
        named = str(destination.get("name") or "")
        server = str(destination.get("server") or _HERE).rstrip("/")
        return named or (IN_CLUSTER if server == _HERE else server.partition("://")[2] or server)


class CannotMakeError(Exception):
    """What an ApplicationSet makes is not in the repository; the text says why."""


def application_of(document: Document) -> Application:
    several = bool(mapping(document.value.get("spec")).get("sources"))
    at = ("spec", "sources") if several else ("spec", "source", "path")
    return Application(document.name, mapping(document.value.get("spec")), document.location(at))


def applications_of(document: Document, root: str) -> Iterator[Application]:
    """Yield what an ApplicationSet makes. Raises CannotMakeError."""
    spec = mapping(document.value.get("spec"))
    template = mapping(spec.get("template"))
    if spec.get("templatePatch"):
        raise CannotMakeError("templatePatch is not read")
    where = document.location(("spec", "template", "spec"))
    found = (params for generator in listed(spec.get("generators")) for params in _params(mapping(generator), root, {}))
    for params in islice(found, MOST_FOLDERS):
        made = mapping(filled(template, params))
        name = mapping(made.get("metadata")).get("name")
        yield Application(str(name or document.name), mapping(made.get("spec")), where)


def filled(value: Any, params: Mapping[str, str]) -> Any:
    """Return a template with its fields; those that nobody sets stay."""
    if isinstance(value, dict):
        return {key: filled(child, params) for key, child in value.items()}
    if isinstance(value, list):
        return [filled(child, params) for child in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    return _FIELD.sub(lambda match: params.get(match["name"], match[0]), value)


def is_open(value: Any) -> bool:
    """Return whether a field of a template is left that nobody sets."""
    if isinstance(value, dict):
        return any(map(is_open, value.values()))
    return any(map(is_open, value)) if isinstance(value, list) else isinstance(value, str) and "{{" in value


def _params(generator: Mapping[str, Any], root: str, outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
    generator = mapping(filled(generator, outer))
    values = _flat(mapping(mapping(generator.get("git")).get("values")), "values.")
    if "list" in generator:
        for element in listed(mapping(generator["list"]).get("elements")):
            yield {**outer, **_flat(mapping(element))}
    elif "git" in generator:
        git = mapping(generator["git"])
        found = _of_directories(git, root) if git.get("directories") else _of_files(git, root)
        yield from ({**outer, **params, **mapping(filled(values, params))} for params in found)
    elif "matrix" in generator:
        first, *others = map(mapping, listed(mapping(generator["matrix"]).get("generators")))
        for params in _params(first, root, outer):
            for other in others:
                yield from _params(other, root, params)
    elif "merge" in generator:
        yield from _merged(mapping(generator["merge"]), root, outer)
    else:
        raise CannotMakeError(f"what its generator {next(iter(generator), '(none)')} finds is not in this repository")


def _merged(merge: Mapping[str, Any], root: str, outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
    first, *others = map(mapping, listed(merge.get("generators")))
    keys = [str(key) for key in listed(merge.get("mergeKeys"))]
    more = list(islice((params for other in others for params in _params(other, root, outer)), MOST_FOLDERS))
    for params in _params(first, root, outer):
        same = (other for other in more if all(other.get(key) == params.get(key) for key in keys))
        yield {**params, **{key: value for other in same for key, value in other.items()}}


def _of_directories(git: Mapping[str, Any], root: str) -> Iterator[dict[str, str]]:
    entries = [mapping(entry) for entry in listed(git.get("directories"))]
    left_out = [str(entry.get("path")) for entry in entries if entry.get("exclude")]
    wanted = [str(entry.get("path")) for entry in entries if not entry.get("exclude")]
    found = sorted({path for pattern in wanted for path in matching(root, pattern) if os.path.isdir(f"{root}/{path}")})
    yield from (_of_path(path) for path in found if not any(matches(path, pattern) for pattern in left_out))


def _of_files(git: Mapping[str, Any], root: str) -> Iterator[dict[str, str]]:
    for entry in map(mapping, listed(git.get("files"))):
        for path in sorted(matching(root, str(entry.get("path")))):
            if not os.path.isfile(f"{root}/{path}"):
                continue
            value = value_in(text_to_read(content(f"{root}/{path}", LARGEST, root=root)))
            for one in value if isinstance(value, list) else [value]:
                yield {
                    **_flat(mapping(one)),
                    **_of_path(os.path.dirname(path)),
                    "path.filename": os.path.basename(path),
                }


def _of_path(path: str) -> dict[str, str]:
    name = os.path.basename(path)
    steps = path.split("/")
    plain = re.sub(r"[^a-z0-9-]", "-", name.lower())
    own = {"path": path, "path.path": path, "path.basename": name, "path.basenameNormalized": plain}
    return {**own, **{f"path[{number}]": step for number, step in enumerate(steps)}}


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, child in value.items():
        if isinstance(child, dict):
            found |= _flat(child, f"{before}{key}.")
        elif not isinstance(child, list):
            found[f"{before}{key}"] = str(child).lower() if isinstance(child, bool) else str(child)
    return found


def matches(path: str, pattern: str) -> bool:
    """Return whether a path is what a pattern of Argo CD means: ``*`` is one name, ``**`` any number of them."""
    names, wanted = path.split("/"), pattern.strip("/").split("/")
    if "**" in wanted:
        return fnmatchcase(path, pattern.strip("/").replace("**", "*"))
    return len(names) == len(wanted) and all(map(fnmatchcase, names, wanted))


def matching(root: str, pattern: str) -> Iterator[str]:
    """Yield the files and folders of the repository that a pattern means, by their paths in it; no links."""
    yield from islice((path for path in _below(root, "", pattern) if matches(path, pattern)), MOST_FOLDERS)


def _below(root: str, folder: str, pattern: str) -> Iterator[str]:
    """Yield what the repository holds, as deep as the pattern reaches."""
    deepest = len(pattern.strip("/").split("/")) if "**" not in pattern else MOST_DEPTH
    try:
        with os.scandir(os.path.join(root, folder)) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = os.path.join(folder, entry.name)
        if entry.is_symlink() or entry.name == ".git" or not is_within(entry.path, root):
            continue
        yield path
        if entry.is_dir() and path.count("/") + 1 < deepest:
            yield from _below(root, path, pattern)
