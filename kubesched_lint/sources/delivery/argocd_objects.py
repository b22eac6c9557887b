"""Applications of Argo CD as objects, and those that an ApplicationSet makes of its generators."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.places import Location
from kubesched_lint.files import is_within, whole
from kubesched_lint.sources.delivery.flux_objects import listed, mapping
from kubesched_lint.sources.manifests.document import REMOTE_APPLICATION, Document, Skipped
from kubesched_lint.sources.manifests.inputs import LARGEST
from kubesched_lint.sources.manifests.limits import MOST_DEPTH
from kubesched_lint.sources.manifests.recognizing.kustomization import merged, text_to_read, value_in

APPLICATION = ("argoproj.io", "Application")
APPLICATION_SET = ("argoproj.io", "ApplicationSet")
IN_CLUSTER = "in-cluster"
_HERE = "https://kubernetes.default.svc"
_SKIPS = "argocd.argoproj.io/skip-reconcile"
_GENERATOR, _SET, _LOOK = 1_000, 200, 10
"""What to run a generator, to make a set of parameters, and to look at a file count for, in characters."""
_FIELD = re.compile(r"\{\{-?\s*\.?(?P<name>[\w.\[\]-]+)\s*-?\}\}")
_ONLY_IF = re.compile(r"\s*\{\{-?\s*if\s+\.(?P<name>\w+)\s*-?\}\}(?P<then>.*)\{\{-?\s*end\s*-?\}\}\s*", re.DOTALL)
_OTHERWISE = re.compile(r"\{\{-?\s*(?:else|end|if|with|range|block|define)\b")


class Application(Struct, frozen=True):
    """An Application; ``where`` is the place that names its folder."""

    name: str
    spec: Mapping[str, Any]
    where: Location
    why: str = ""
    """Why it is not read; empty if it is."""
    kind: str = APPLICATION[1]
    """ApplicationSet if nobody can tell what it makes."""

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"

    def not_read(self, why: str) -> Skipped:
        return Skipped(self.where.path, self.where.span.line, f"{self.title}: {why}", unrendered=REMOTE_APPLICATION)

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
    skips = str(mapping(document.annotations).get(_SKIPS)).lower() == "true"
    why = "Argo CD is told not to reconcile it" if skips else ""
    return Application(document.name, mapping(document.value.get("spec")), document.location(at), why)


def applications_of(document: Document, root: str) -> Iterator[Application]:
    """Yield what an ApplicationSet makes. Raises CannotMakeError."""
    spec = mapping(document.value.get("spec"))
    template = mapping(spec.get("template"))
    where = document.location(("spec", "template", "spec"))
    fields = document.text.count("{{")
    making = _Making(root)
    for generator in map(mapping, listed(spec.get("generators"))):
        own = next(
            (mapping(settings["template"]) for settings in map(mapping, generator.values()) if "template" in settings),
            {},
        )
        for params in making.params(generator, {}):
            making.charge(fields * max(map(len, params.values()), default=0))
            made = mapping(filled(merged(template, _without_empty(own)), params))
            name = mapping(made.get("metadata")).get("name")
            made_spec = mapping(made.get("spec"))
            why = "templatePatch is not read" if _is_patched(spec, params) else _why_open(made_spec)
            yield Application(str(name or document.name), made_spec, where, why)


def _why_open(spec: Mapping[str, Any]) -> str:
    """Return why nobody can tell where an Application goes, or what of a folder it applies; empty if one can."""
    if is_open(spec.get("destination")):
        return "its destination is a template that nobody fills"
    sources = [mapping(spec.get("source")), *map(mapping, listed(spec.get("sources")))]
    key = next((key for source in sources for key in ("kustomize", "directory") if is_open(source.get(key))), "")
    return f"its {key} is a template that nobody fills" if key else ""


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template of a generator without what is empty, which the other template fills in."""
    plain = {key: _without_empty(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
    return {key: inner for key, inner in plain.items() if inner not in (None, "", 0, False, {}, [])}


def _is_patched(spec: Mapping[str, Any], params: Mapping[str, str]) -> bool:
    """Return whether a template may be patched: not if all of the patch is for those with a parameter that is absent.

    With ``missingkey=error`` Argo CD refuses an absent one.
    """
    patch = spec.get("templatePatch")
    if not isinstance(patch, str) or not patch.strip():
        return bool(patch)
    condition = _ONLY_IF.fullmatch(patch)
    is_plain = condition is not None and not _OTHERWISE.search(condition["then"])
    if condition is None or not is_plain or "missingkey=error" in map(str, listed(spec.get("goTemplateOptions"))):
        return True
    return bool(params.get(condition["name"]))


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


class _Making:
    """What generators find in the repository ``root``."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._left = LARGEST

    def charge(self, characters: int) -> None:
        """Count text that is read or made, and as text what takes as long. Raises CannotMakeError if it is too much."""
        self._left -= characters
        if self._left < 0:
            raise CannotMakeError(f"its generators make more than {LARGEST >> 20} MiB of text")

    def params(self, generator: Mapping[str, Any], outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the parameters that a generator makes, each with those of the generators around it."""
        self.charge(_GENERATOR)
        for params in self._own_params(generator, outer):
            if not _selects(mapping(generator.get("selector")), params):
                continue
            self.charge(_SET + sum(len(name) + len(value) for name, value in params.items()))
            yield {**outer, **params}

    def _own_params(self, generator: Mapping[str, Any], outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
        if "list" in generator:
            for element in (*listed(mapping(generator["list"]).get("elements")), *self._elements(generator, outer)):
                yield _flat(mapping(filled(element, outer)))
        elif "git" in generator:
            git = mapping(filled(mapping(generator["git"]), outer))
            values = _flat(mapping(git.get("values")), "values.")
            parameter_sets = self._of_directories(git) if git.get("directories") else self._of_files(git)
            yield from ({**params, **mapping(filled(values, params))} for params in parameter_sets)
        elif "matrix" in generator:
            first, others = _first_of(generator["matrix"])
            for params in self.params(first, outer):
                for other in others:
                    yield from self.params(other, params)
        elif "merge" in generator:
            yield from self._merged(mapping(generator["merge"]), outer)
        else:
            kind = next((key for key in generator if key != "selector"), "(none)")
            raise CannotMakeError(f"what its generator {kind} finds is not in this repository")

    def _elements(self, generator: Mapping[str, Any], outer: Mapping[str, str]) -> Sequence[Any]:
        """Return the elements that a list has as text."""
        text = filled(mapping(generator["list"]).get("elementsYaml"), outer)
        if not isinstance(text, str) or not text.strip():
            return ()
        if is_open(text):
            raise CannotMakeError("its elementsYaml is a template that nobody fills")
        self.charge(len(text))
        elements = value_in(text)
        if not isinstance(elements, list):
            raise CannotMakeError("its elementsYaml is no list")
        return elements

    def _merged(self, merge: Mapping[str, Any], outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
        first, others = _first_of(merge)
        keys = [str(key) for key in listed(merge.get("mergeKeys"))]
        more: dict[tuple[str | None, ...], dict[str, str]] = {}
        for other in others:
            for params in self.params(other, outer):
                more.setdefault(tuple(map(params.get, keys)), {}).update(params)
        for params in self.params(first, outer):
            yield {**params, **more.get(tuple(map(params.get, keys)), {})}

    def _of_directories(self, git: Mapping[str, Any]) -> Iterator[dict[str, str]]:
        entries = [mapping(entry) for entry in listed(git.get("directories"))]
        left_out = [str(entry.get("path")) for entry in entries if entry.get("exclude")]
        wanted = [str(entry.get("path")) for entry in entries if not entry.get("exclude")]
        paths = {
            path for pattern in wanted for path in self._matching(pattern) if os.path.isdir(f"{self._root}/{path}")
        }
        yield from (
            _prefixed(_of_path(path), git)
            for path in sorted(paths)
            if not any(matches(path, excluded) for excluded in left_out)
        )

    def _of_files(self, git: Mapping[str, Any]) -> Iterator[dict[str, str]]:
        wanted, left_out = set[str](), set[str]()
        for entry in map(mapping, listed(git.get("files"))):
            (left_out if entry.get("exclude") else wanted).update(self._files(str(entry.get("path"))))
        for path in sorted(wanted - left_out):
            data = whole(f"{self._root}/{path}", LARGEST, root=self._root)
            self.charge(len(data))
            value = value_in(text_to_read(data))
            for values_of_file in value if isinstance(value, list) else [value]:
                own = {**_of_path(os.path.dirname(path)), "path.filename": os.path.basename(path)}
                yield {**_flat(mapping(values_of_file)), **_prefixed(own, git)}

    def _matching(self, pattern: str) -> Iterator[str]:
        """Yield the folders and files of the repository that a pattern means, by their paths in it; no links."""
        for path in _below(self._root, "", len(pattern.strip("/").split("/"))):
            self.charge(_LOOK)
            if matches(path, pattern) and not any(step.startswith(".") for step in path.split("/")):
                yield path

    def _files(self, pattern: str) -> Iterator[str]:
        """Yield the files that ``git ls-files`` lists for a pattern, where ``*`` is any text, also with /."""
        wanted = os.path.normpath(pattern.lstrip("/"))
        if wanted.startswith(os.pardir) or "\0" in wanted:
            return
        plain = re.split(r"[*?\[]", wanted, maxsplit=1)[0]
        if os.path.isfile(f"{self._root}/{wanted}"):
            yield wanted
            return
        folder = plain.rpartition("/")[0] if plain != wanted else wanted
        for path in _below(self._root, folder, MOST_DEPTH):
            self.charge(_LOOK)
            is_meant = plain == wanted or fnmatchcase(path, wanted)
            if is_meant and os.path.isfile(f"{self._root}/{path}"):
                yield path


def _first_of(combination: Any) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return the first of the generators that are combined, and the others."""
    generators = list(map(mapping, listed(mapping(combination).get("generators"))))
    return (generators or [{}])[0], generators[1:]


def _of_path(path: str) -> dict[str, str]:
    name = os.path.basename(path)
    steps = path.split("/")
    plain = re.sub(r"[^a-z0-9-]", "-", name.lower())
    own = {"path": path, "path.path": path, "path.basename": name, "path.basenameNormalized": plain}
    return {**own, **{f"path[{number}]": step for number, step in enumerate(steps)}}


def _prefixed(params: Mapping[str, str], git: Mapping[str, Any]) -> dict[str, str]:
    prefix = git.get("pathParamPrefix")
    return {f"{prefix}.{key}" if prefix else key: value for key, value in params.items()}


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, child in value.items():
        if isinstance(child, dict):
            flat |= _flat(child, f"{before}{key}.")
        elif isinstance(child, list):
            if child:  # open: Go's text of it is not known
                flat[f"{before}{key}"] = f"{{{{.{before}{key}}}}}"
        else:
            flat[f"{before}{key}"] = str(child).lower() if isinstance(child, bool) else str(child)
    return flat


def matches(path: str, pattern: str) -> bool:
    """Return whether a pattern of folders means a path: ``*`` and ``**`` are one name, as in Go's path.Match."""
    names, wanted = path.split("/"), pattern.strip("/").split("/")
    return len(names) == len(wanted) and all(map(fnmatchcase, names, wanted))


def _selects(selector: Mapping[str, Any], params: Mapping[str, str]) -> bool:
    """Return whether a generator keeps a set of parameters, which it holds against a selector of labels."""
    wanted = [(key, "In", [str(value)]) for key, value in mapping(selector.get("matchLabels")).items()]
    for expression in map(mapping, listed(selector.get("matchExpressions"))):
        wanted.append(
            (str(expression.get("key")), str(expression.get("operator")), [*map(str, listed(expression.get("values")))])
        )
    for key, operator, values in wanted:
        is_there, is_one = key in params, params.get(key) in values
        holds = {"In": is_one, "NotIn": not is_one, "Exists": is_there, "DoesNotExist": not is_there}.get(operator)
        if holds is None:
            raise CannotMakeError(f"its selector has the operator {operator}")
        if not holds:
            return False
    return True


def _below(root: str, folder: str, deepest: int) -> Iterator[str]:
    """Yield what a folder of the repository holds, by the paths in this, which have at most so many steps."""
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
            yield from _below(root, path, deepest)
