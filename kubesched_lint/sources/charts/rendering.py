"""What Helm makes of pulled charts: without network, plugins or settings, from locked archives alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.sources.charts.folder import archive
from kubesched_lint.sources.charts.lock import NAME, Locked, Pinned, locked_in
from kubesched_lint.sources.manifests.chart_folders.chart_archive import (
    ArchiveError,
    ChartFiles,
    chart_in,
    subcharts_of,
)
from kubesched_lint.sources.manifests.kustomize.kustomizing import Store
from kubesched_lint.sources.manifests.kustomize.rendering import (
    Rendered,
    RenderError,
    SlowRenderError,
    render,
)
from kubesched_lint.sources.manifests.kustomize.tools import Tool, helm, kustomizer
from kubesched_lint.sources.manifests.kustomize.tree import as_json
from kubesched_lint.sources.manifests.recognizing.kustomization import merged, text_to_read, value_in
from kubesched_lint.sources.manifests.rendered.charts import Made
from kubesched_lint.version import __version__

PULL = "kubesched-lint charts pull"
_LIKE = "1.35.0"
"""The Kubernetes version that charts are told if nobody names one: else it would depend on Helm's."""


class ChartFile(Struct, frozen=True):
    """A file of values in the archive of a chart, by its path in it; ``is_optional``: it need not be there."""

    path: str
    is_optional: bool = False


class Asked(Struct, frozen=True):
    """A release to render: ``values`` are those that its object gives, as JSON.

    ``folder`` has the chart if it is in the repository; else ``chart`` names it.
    """

    chart: Pinned
    name: str
    namespace: str
    values: str
    folder: str = ""
    post: str = ""
    """Kustomizations, as a list in JSON, that change what Helm made, one after another; empty for none."""
    own: tuple[ChartFile, ...] = ()
    """Files of the archive that stand in for its values.yaml, the last above the others; empty for none."""
    below: tuple[ChartFile | str, ...] = ()
    """Values below ``values``, the last above the others: files of the archive, or JSON."""


class Charts(Struct, frozen=True):
    """Where charts are: ``lock`` is the lock's path, ``folder`` has the archives, ``store`` renderings of earlier runs.

    The lock is read when it is needed: a run about another commit stands in a copy of the files of that one.
    """

    lock: str
    folder: str
    store: Store | None = None
    version: str = ""
    """The Kubernetes version that charts are told; empty if nobody names one."""

    def locked(self) -> Mapping[Pinned, Locked]:
        """Return what the lock says of each chart. Raises LockError."""
        return locked_in(self.lock)

    def made(self, releases: Sequence[Asked]) -> list[Made]:
        """Return what each release becomes. Raises LockError, NoHelmError."""
        locked = self.locked()
        known = [
            (request, _IN_FOLDER if request.folder else locked.get(request.chart, _NONE).sha256) for request in releases
        ]
        tool = helm()
        if tool is None and any(digest for _, digest in known):
            raise NoHelmError(f"charts are to be rendered (gitops.helm), and {NO_HELM}")
        if tool is None or not known:
            return [_unlocked(request) for request, _ in known]
        keys = [_key(request, digest, self._version, tool) if digest else "" for request, digest in known]
        lasting = [key for key, (request, _) in zip(keys, known, strict=True) if key and not request.folder]
        kept = self.store.renderings(lasting) if self.store else {}
        left = {key: both for key, both in zip(keys, known, strict=True) if key and key not in kept}
        slow: set[str] = set()
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            done = pool.map(lambda both: self._in_time(both[0], both[1], tool, slow), left.values())
            new = dict(zip(left, done, strict=True))
        if self.store and new:
            self.store.keep_renderings(
                {key: Rendered(new[key].text, False, "", "") for key in lasting if key in new and not new[key].why}
            )
        renderings = {**{key: Made(rendered.text) for key, rendered in kept.items()}, **new}
        return [renderings[key] if key else _unlocked(request) for key, (request, _) in zip(keys, known, strict=True)]

    @property
    def _version(self) -> str:
        return self.version or _LIKE

    def _in_time(self, release: Asked, digest: str, tool: Tool, slow: set[str]) -> Made:
        """Return what a release becomes; a chart that took too long for one release is not tried for the others."""
        chart = f"{digest} {release.folder}"
        if chart in slow:
            return Made(
                why=f"{release.folder or release.chart}: helm template took too long for another release of the chart"
            )
        try:
            return self._rendered(release, digest, tool)
        except SlowRenderError as error:
            slow.add(chart)
            return Made(why=f"{release.folder or release.chart}: {error}")

    def _rendered(self, release: Asked, digest: str, tool: Tool) -> Made:
        data = None if release.folder else archive(self.folder, digest)
        if data is None and not release.folder:
            return Made(why=f"{release.chart} is locked, and its archive is not here: {PULL}")
        options = ["--namespace", release.namespace, "--kube-version", self._version]
        folder = ""
        try:
            with TemporaryDirectory(prefix="kubesched-lint-") as folder:
                home, chart = os.path.join(folder, "home"), release.folder
                os.mkdir(home)
                layers = [*release.below, release.values]
                if data is not None:
                    files = chart_in(data)
                    chart = _written(files if not release.own else _with_values(files, release.own), folder)
                    layers = [_layer(files, layer) for layer in layers]
                for number, layer in enumerate(layers):
                    path = os.path.join(folder, f"{number}.values.json")
                    options += ["--values", path]
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(str(layer))
                command = (*tool.command, *options, "--", release.name)
                text = render(Tool(tool.name, command), chart, home=home)
                for number, settings in enumerate(json.loads(release.post or "[]")):
                    text = _changed(text, settings, os.path.join(folder, f"post{number}"))
                return Made(text)
        except ArchiveError as error:
            return Made(why=f"the archive of {release.chart} is refused: {error}", is_refused=True)
        except SlowRenderError:
            raise
        except (RenderError, OSError, ValueError) as error:  # ValueError: a name that no program can be given
            words = f"{release.folder or release.chart}: {error}"
            return Made(why=words.replace(folder, "") if folder else words)


def _written(chart: ChartFiles, folder: str) -> str:
    """Return the path of an archive in a folder that has the files of a chart. Raises OSError."""
    path = os.path.join(folder, "chart.tgz")
    with open(path, "wb") as file:
        file.write(chart.packed())
    return path


def _with_values(chart: ChartFiles, own: Sequence[ChartFile]) -> ChartFiles:
    """Return a chart whose values are those of some of its files, as source-controller packs it. Raises RenderError."""
    values: Mapping[str, Any] = {}
    for file in own:
        if os.path.normpath(file.path).startswith(_NOT_OF_VALUES):
            raise RenderError(f"{file.path} is no file of values")
        values = merged(values, _values_in(chart, file))
    return replace(chart, files={**chart.files, _VALUES: as_json(values).encode()})


def _layer(chart: ChartFiles, layer: ChartFile | str) -> str:
    """Return values as JSON. Raises RenderError."""
    return layer if isinstance(layer, str) else as_json(_values_in(chart, layer))


def _values_in(chart: ChartFiles, file: ChartFile) -> Mapping[str, Any]:
    """Return the values in a file of a chart. Raises RenderError."""
    data = chart.files.get(os.path.normpath(file.path))
    if data is None and not file.is_optional:
        raise RenderError(f"{file.path} is not in the chart")
    value = value_in(text_to_read(data)) if data else {}
    if value is not None and not isinstance(value, dict):
        raise RenderError(f"{file.path} is no mapping")
    return value or {}


def _changed(text: str, settings: Mapping[str, Any], folder: str) -> str:
    """Return what Kustomize makes of a text with patches and images. Raises RenderError, OSError."""
    tool = kustomizer()
    if tool is None:
        raise RenderError("postRenderers need kubectl or kustomize, and neither is on PATH")
    os.mkdir(folder)
    for name, data in (("all.yaml", text), ("kustomization.yaml", as_json({"resources": ["all.yaml"], **settings}))):
        with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(data)
    return render(tool, folder)


_NONE = Locked("")
_IN_FOLDER = "in the repository"
"""Stands for the digest of a chart that is no archive."""
NO_HELM = "helm is not on PATH"


class NoHelmError(Exception):
    """Charts are to be rendered and nothing here can; the text says so."""


def _unlocked(release: Asked) -> Made:
    if release.chart.is_range:
        return Made(why=f"{release.chart} is a range, and {NAME} has no version for it: {PULL}")
    return Made(why=f"{release.chart} is not in {NAME}: {PULL}")


def _key(release: Asked, digest: str, version: str, tool: Tool) -> str:
    """Return the digest of the tool and of all that it gets."""
    program = os.stat(tool.command[0])
    about = (__version__, tool, program.st_mtime_ns, program.st_size, digest, release, version)
    return blake2b(repr(about).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def given_values(values: Any) -> str | None:
    """Return values as JSON; None if they are none that Helm could get, such as a date."""
    try:
        return json.dumps(values, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None


@lru_cache(maxsize=64)
def default_values(
    folder: str, digest: str, own: tuple[ChartFile, ...] = ()
) -> tuple[tuple[tuple[str, ...], str, str], ...]:
    """Return (path of the subchart, file in the archive, text) of each file of default values of a chart.

    ``own`` as in ``Asked``.
    """
    data = archive(folder, digest)
    if data is None:
        return ()
    try:
        chart = chart_in(data, _OF_DEFAULTS | {os.path.basename(file.path) for file in own})
    except ArchiveError:
        return ()
    defaults = []
    root = {os.path.normpath(file.path) for file in own} or {_VALUES}
    for path, content in sorted(chart.files.items()):
        folders = () if path in root else subcharts_of(path, _VALUES)
        if folders is not None and (folders or path in root):
            names = tuple(_name_in(chart, folders[: number + 1]) for number in range(len(folders)))
            defaults.append((names, f"{chart.folder}/{path}", content.decode("utf-8", "replace")))
    return tuple(defaults)


_VALUES = "values.yaml"
_NOT_OF_VALUES = ("templates/", "charts/", "Chart.yaml")
_OF_DEFAULTS = frozenset({"Chart.yaml", _VALUES})


def _name_in(chart: ChartFiles, folders: Sequence[str]) -> str:
    """Return the name of a subchart, by which values are given to it."""
    path = "".join(f"charts/{folder}/" for folder in folders)
    value = value_in(chart.files.get(f"{path}Chart.yaml", b"").decode("utf-8", "replace"))
    return str(value.get("name") or folders[-1]) if isinstance(value, dict) else folders[-1]
