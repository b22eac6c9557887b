"""Sources of Applications of Argo CD: where they are, which kind they are, and what they take of a folder."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from typing import Any

from msgspec import Struct

from kubesched_lint.files import whole
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.sources.delivery.argocd_objects import APPLICATION
from kubesched_lint.sources.delivery.flux_objects import are_in, is_kind, listed, mapping
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.flux import folder_in
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS
from kubesched_lint.sources.manifests.limits import MOST_FOLDERS
from kubesched_lint.sources.manifests.recognizing.kustomization import text_to_read, value_in

HELM, KUSTOMIZE, DIRECTORY = "helm", "kustomize", "directory"


def addresses_in(documents: Iterable[Document], root: str) -> list[str]:
    """Return the addresses of this repository: those that most Applications give for folders that are in it."""
    addresses: Counter[str] = Counter()
    for document in documents:
        spec = mapping(document.value.get("spec"))
        spec = mapping(mapping(spec.get("template")).get("spec")) or spec
        for source in (mapping(spec.get("source")), *map(mapping, listed(spec.get("sources")))):
            path, address = source.get("path"), source.get("repoURL")
            is_here = isinstance(path, str) and ("{{" in path or folder_in(root, path.lstrip("/"), root))
            if is_here and isinstance(address, str) and "{{" not in address:
                addresses[plain_address(address)] += 1
    return [address for address, _ in addresses.most_common(1)]


class Held(Struct, frozen=True):
    """The files of a folder that an Application applies; ``below``: also those in folders below it.

    ``wanted`` and ``left_out`` are patterns of paths in the folder.
    """

    folder: str
    below: bool = True
    wanted: re.Pattern[str] | None = None
    left_out: re.Pattern[str] | None = None

    def holds(self, file: str) -> bool:
        """Return whether a file in the folder is one of them; both are paths without links."""
        path = file.removeprefix(self.folder).lstrip(os.sep)
        if os.sep in path and not self.below:
            return False
        return not (self.wanted and not self.wanted.match(path)) and not (self.left_out and self.left_out.match(path))


def held_in(folder: str, directory: Mapping[str, Any]) -> Held:
    wanted, left_out = (_pattern(directory.get(key)) for key in ("include", "exclude"))
    return Held(folder, bool(directory.get("recurse")), wanted, left_out)


def files_in(folder: str, held: Held) -> Iterator[str]:
    """Yield the files in a folder, and below it if that is wanted, also links to files."""
    for number, (place, inside, names) in enumerate(os.walk(folder)):
        inside.sort()
        yield from (os.path.join(place, name) for name in sorted(names))
        if not held.below or number > MOST_FOLDERS:
            break


def held_by(document: Document, own: Sequence[str], root: str) -> Iterator[Held]:
    """Yield what an Application applies of this repository, at the addresses ``own``; of a kustomization, any file.

    Nothing for an ApplicationSet, whose templates have no path yet.
    """
    spec = mapping(document.value.get("spec"))
    for source in (mapping(spec.get("source")), *map(mapping, listed(spec.get("sources")))):
        path = source.get("path")
        is_named = isinstance(path, str) and is_kind(document.api_version, document.kind, APPLICATION)
        folder = folder_in(root, str(path).lstrip("/"), root) if is_named else ""
        kinds = kinds_of(folder, source) if folder else []
        if plain_address(str(source.get("repoURL"))) in own and kinds in ([KUSTOMIZE], [DIRECTORY]):
            yield Held(folder) if kinds == [KUSTOMIZE] else held_in(folder, mapping(source.get("directory")))


def kinds_of(folder: str, source: Mapping[str, Any]) -> list[str]:
    """Return what a source is to Argo CD: what its settings say, of which several are an error, else its files."""
    if source.get("chart"):
        return [HELM]
    said = [key for key in (HELM, KUSTOMIZE, DIRECTORY) if any(mapping(source.get(key)).values())]
    if said:
        return said
    if any(os.path.lexists(os.path.join(folder, name)) for name in KUSTOMIZATIONS):
        return [KUSTOMIZE]
    return [HELM if os.path.lexists(os.path.join(folder, "Chart.yaml")) else DIRECTORY]


def overridden(source: Mapping[str, Any], folder: str, name: str, root: str) -> Mapping[str, Any]:
    """Return a source with the settings that files in its folder have, for all Applications and for this one. Raises
    OSError.
    """
    changed_source = dict(source)
    for file in (".argocd-source.yaml", f".argocd-source-{name}.yaml"):
        path = os.path.join(folder, file)
        if "\0" not in path and os.path.isfile(path):
            value = value_in(text_to_read(whole(path, LARGEST_SETTINGS, root=root)))
            changed_source = _patched(changed_source, mapping(value))
    return {**changed_source, **{key: source.get(key) for key in ("chart", "path", "repoURL", "targetRevision")}}


def _patched(value: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value with a JSON merge patch."""
    patched = dict(value)
    for key, inner in patch.items():
        patched[key] = _patched(mapping(patched.get(key)), inner) if isinstance(inner, dict) else inner
    return {key: inner for key, inner in patched.items() if inner is not None}


def changed_by(settings: Mapping[str, Any], value: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return the kustomization in a folder with what an Application sets in it."""
    changed = dict(value)
    for key in ("namePrefix", "nameSuffix", "namespace"):
        if settings.get(key):
            changed[key] = settings[key]
    more = {"patches": listed(settings.get("patches")), "components": list(listed(settings.get("components")))}
    if settings.get("ignoreMissingComponents"):
        more["components"] = are_in(folder, more["components"])
    counts = {
        replica_count.get("name"): _count(replica_count)
        for replica_count in map(mapping, listed(settings.get("replicas")))
    }
    kept = [entry for entry in listed(value.get("replicas")) if mapping(entry).get("name") not in counts]
    changed["replicas"] = [*kept, *({"name": name, "count": count} for name, count in counts.items())]
    labels = mapping(settings.get("commonLabels"))
    if labels and settings.get("labelWithoutSelector"):
        includes = bool(settings.get("labelIncludeTemplates"))
        more["labels"] = [{"pairs": labels, "includeSelectors": False, "includeTemplates": includes}]
    elif labels:
        changed["commonLabels"] = {**mapping(value.get("commonLabels")), **labels}
    changed.update({key: [*listed(value.get(key)), *items] for key, items in more.items()})
    return {key: field for key, field in changed.items() if field != []}


def _count(replicas: Mapping[str, Any]) -> Any:
    """Return the number of replicas, which an Application may have as text."""
    count = replicas.get("count")
    return int(count) if isinstance(count, str) and re.fullmatch(r"\d{1,9}", count) else count


def plain_address(address: str) -> str:
    """Return the address of a repository without what two spellings of it may differ in."""
    text = address.strip().lower().removesuffix("/").removesuffix(".git")
    text = text.partition("://")[2] or text
    return text.rpartition("@")[2].replace(":", "/")


def _pattern(text: object) -> re.Pattern[str] | None:
    """Return what a pattern of file names means, None if there is none; ``*`` is any text, also with /."""
    plain = _without_braces(text) if isinstance(text, str) and text else ()
    return re.compile("|".join(map(translate, plain))) if plain else None


def _without_braces(pattern: str) -> Sequence[str]:
    """Return the patterns that ``{a,b}`` stands for; itself if they are too many or too long, which no file name is
    like.
    """
    done: list[str] = []
    made = 0
    left = [pattern]
    while left and len(left) + len(done) <= MOST_FOLDERS:
        open_pattern = left.pop()
        start = open_pattern.rfind("{")
        end = open_pattern.find("}", start)
        if start < 0 or end < 0:
            done.append(open_pattern)
        else:
            choices = open_pattern[start + 1 : end].split(",")
            made += len(choices) * len(open_pattern)
            if made > LARGEST_SETTINGS:
                return [pattern]
            left += [open_pattern[:start] + choice + open_pattern[end + 1 :] for choice in choices]
    return [pattern] if left else done
