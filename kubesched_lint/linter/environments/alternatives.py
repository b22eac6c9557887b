"""Files and folders that define the same workloads: environments, releases or samples that nobody applies together."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.text import SHOWN, and_more, first_few, joined
from kubesched_lint.engine.model.inventory import Inventory, identity
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.limits import MOST_LEADERS
from kubesched_lint.linter.options import EVERYTHING
from kubesched_lint.sources.manifests.document import RENDERED
from kubesched_lint.sources.manifests.recognizing.meant import environment_in


class Alternatives(Struct, frozen=True, dict=True):
    """The alternatives of a set. ``together`` are paths that a target names: what lies there is applied together."""

    manifests: Inventory
    together: Collection[str] = ()
    known: Sequence[Sequence[str]] = ()
    """Groups of another version of the set: an alternative that has no other here is one, too."""

    @cached_property
    def groups(self) -> Sequence[Sequence[str]]:
        """The paths of each group, in reading order. Any two of a group define a common workload, here or elsewhere."""
        groups = list(map(list, self._own_groups))
        for group in self.known:
            own = [each for each in groups if not set(group).isdisjoint(each)]
            left = [each for each in groups if each not in own]
            groups = [*left, list(dict.fromkeys(path for each in (*own, group) for path in each))]
        return groups

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Path of an alternative → what tells it apart from the others of its group, as ``prod``."""
        return {path: name for group in self.groups for path, name in zip(group, _told_apart(group), strict=True)}

    @cached_property
    def _own_groups(self) -> Sequence[Sequence[str]]:
        if not self.manifests.has_namesakes or EVERYTHING in self.together:
            return ()
        paths_by_folder: dict[str, dict[str, list[Workload]]] = {}
        for workload in self.manifests.workloads:
            for parent, path in self.steps(workload):
                paths_by_folder.setdefault(parent, {}).setdefault(path, []).append(workload)
        return [group for inside in paths_by_folder.values() if len(inside) > 1 for group in _grouped(inside)]

    def steps(self, item: Any) -> Iterator[tuple[str, str]]:
        """Yield (folder, path in it) for the file of an object and for each folder above it, the innermost first."""
        source = getattr(item, "source", None)
        for path in _with_folders("" if source is None else os.path.normpath(source.path.removesuffix(RENDERED))):
            if path not in self._named:
                yield os.path.dirname(path), path

    @cached_property
    def _named(self) -> Collection[str]:
        """The paths that a target names, and the folders above them."""
        folders: set[str] = set()
        for path in map(os.path.normpath, self.together):
            while path not in folders:
                folders.add(path)
                path = os.path.dirname(path)
        return folders

    @cached_property
    def older(self) -> Mapping[str, str]:
        """Path of a release → that of the newest one: their names differ in nothing but the version."""
        return {path: newest for group in self.groups for path, newest in _older(group)}

    def newest_beside(self, path: str) -> str:
        """Return the newest release if a file lies in an older one; else nothing."""
        if not self.older:
            return ""
        place = os.path.normpath(path.removesuffix(RENDERED))
        return next((self.older[folder] for folder in _with_folders(place) if folder in self.older), "")

    @property
    def environments(self) -> tuple[str, ...]:
        """The names of the alternatives, each once."""
        return tuple(dict.fromkeys(name for group in self.groups for name in _told_apart(group)))

    def note(self) -> str:
        """Return a note for a report that judges each alternative apart."""
        named = "; ".join(map(_named, self.groups[:SHOWN]))
        more = len(self.groups) - SHOWN
        listed = f"{named}{';' * (more > 0)}{and_more(more, 'group')}"
        environments = (set(map(_environment, group)) - {""} for group in self.groups)
        is_hinted = any(len(names) > 1 for names in environments)
        hint = ". [[targets]] in kubesched.toml give each environment its own cluster" if is_hinted else ""
        return f"judged apart, because they define the same workloads: {listed}{hint}"


def _with_folders(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the innermost first."""
    while path not in ("", os.sep, os.curdir):
        yield path
        path = os.path.dirname(path)


def _told_apart(group: Sequence[str]) -> Sequence[str]:
    """Return the names of a group's paths without the words at the start and the end that all of them share."""
    full = [os.path.basename(path) for path in group]
    bare = [re.sub(_ENDING, "", name) for name in full]
    parts = [re.split(r"([-_])", name) for name in bare]
    for end in (1, -1):
        while len({tuple(each[:1] if end > 0 else each[-1:]) for each in parts}) == 1 and min(map(len, parts)) > 2:
            parts = [each[2:] if end > 0 else each[:-2] for each in parts]
    short = ["".join(each) for each in parts]
    return next((names for names in (short, bare) if len(set(names)) == len(names)), full)


_ENDING = r"\.(?:ya?ml|json)$"
_RELEASE = r"v?(\d+(?:\.\d+)+)"
"""A version in a name: ``csi-v1.2.0``. One number alone may be a variant: ``reviews-v2``."""


def _older(group: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (path, newest path) for the releases of a group that are not the newest."""
    releases: dict[tuple[str, str], dict[tuple[int, ...], str]] = {}
    for path in group:
        name = re.sub(_ENDING, "", os.path.basename(path))
        if version := re.search(_RELEASE, name):
            rest = name[: version.start()], name[version.end() :]
            releases.setdefault(rest, {})[tuple(map(int, version[1].split(".")))] = path
    for versions in releases.values():
        newest = max(versions)
        yield from ((path, versions[newest]) for number, path in versions.items() if number != newest)


def _grouped(inside: Mapping[str, Sequence[Workload]]) -> Iterator[Sequence[str]]:
    """Yield the groups of alternatives among the paths in one folder.

    First those that define the same workloads, at least half of them; then environments that differ in namespaces.
    """
    exact = [*_alike({path: {identity(w): w for w in workloads} for path, workloads in inside.items()})]
    yield from exact
    known = {path for group in exact for path in group}
    left = [path for path in inside if path not in known and _environment(path)]
    yield from _alike({path: {(w.ref.kind, w.ref.name): w for w in inside[path]} for path in left}, environments=True)


def _alike(defined: Mapping[str, Mapping[Any, Workload]], environments: bool = False) -> Iterator[Sequence[str]]:
    """Yield groups of paths, each like the first of its group, with something that all of them define."""
    leaders: dict[object, list[str]] = {}
    groups: dict[str, list[str]] = {}
    common: dict[str, set[Any]] = {}
    for path, own in defined.items():
        nearest = Counter(leader for key in own for leader in leaders.get(key, ())).most_common()
        alike = (leader for leader, number in nearest if _is_like(path, leader, number, defined, environments))
        leader = next((leader for leader in alike if not common[leader].isdisjoint(own)), "")
        if leader:
            groups[leader].append(path)
            common[leader].intersection_update(own)
        else:
            groups[path], common[path] = [path], set(own)
            for key in own:
                if len(leaders.setdefault(key, [])) < MOST_LEADERS:
                    leaders[key].append(path)
    yield from (group for group in groups.values() if len(group) > 1)


def _is_like(path: str, leader: str, number: int, defined: Mapping[str, Sized], environments: bool) -> bool:
    """Return whether two paths with ``number`` common objects are alternatives: half of them, or two environments."""
    sizes = (len(defined[path]), len(defined[leader]))
    environment, other = _environment(path), _environment(leader)
    if environment and other and environment != other:
        return 2 * number >= min(sizes)
    return not environments and 2 * number >= max(sizes)


def _environment(path: str) -> str:
    """Return the environment that a path is named after: ``prod`` for ``prod-eu-2``, nothing for ``dev-portal``."""
    name = re.sub(_ENDING, "", os.path.basename(path).lower())
    environment = environment_in(name)
    others = name.replace(environment, "", 1)
    is_application = re.fullmatch(_OF_PEOPLE, os.path.basename(os.path.dirname(path)).lower())
    return environment if environment and re.fullmatch(_PLACE, others) and not is_application else ""


_PLACE = r"(?:[-_.]|\d|(?<![a-z])(?:[a-z]{1,3}|apac|emea|asia|europe|(?:north|south|east|west|central)+)(?![a-z]))*"
"""What a name may have beside the environment: regions, zones and numbers, such as ``us-east-1``."""
_OF_PEOPLE = r"app(?:lication)?s|projects|services|teams|tenants"
"""Folders whose subfolders belong to teams or applications, which may be called ``live`` or ``dev``."""


def _named(group: Sequence[str]) -> str:
    folder = os.path.dirname(group[0])
    names = [os.path.basename(path) for path in group]
    shown = joined(names) if len(names) <= SHOWN else first_few(names)
    return f"{shown} in {folder}" if folder else shown
