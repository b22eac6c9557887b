"""Whether the kubelets of a snapshot fit its API server, by the version skew policy of Kubernetes.

A kubelet is never newer than the API server, and at most three minor versions older:
https://kubernetes.io/releases/version-skew-policy/#kubelet
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.releases import modelled
from kubesched_lint.engine.base.text import first_few, many, plural

if TYPE_CHECKING:
    from kubesched_lint.engine.model.nodes.node import Node

_MINOR = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?![0-9])")
_MINORS_BEHIND = 3


def _minor(version: str) -> tuple[int, int] | None:
    """Return (1, 36) for ``v1.36.2``; None if the text is no version."""
    match = _MINOR.match(version)
    return (int(match[1]), int(match[2])) if match else None


def newer_kubelets(version: str, nodes: Iterable[Node]) -> str:
    """Return one sentence on kubelets newer than an API server of ``version``; empty if there are none.

    A cluster has such nodes only by mistake, so parts of the file are probably from different times.
    """
    server = _minor(version)
    newer = [node for node in nodes if server and (_minor(node.kubelet_version) or server) > server]
    if not newer:
        return ""
    return f"{_named(newer)} newer than the API server, {version}: parts of the file are probably from different times"


def old_kubelets(version: str, nodes: Iterable[Node]) -> str:
    """Return one sentence on kubelets that are too old for an API server of ``version``; empty if there are none."""
    server = _minor(version)
    if server is None:
        return ""
    oldest = _later(server, -_MINORS_BEHIND)
    outdated = [node for node in nodes if (_minor(node.kubelet_version) or server) < oldest]
    if not outdated:
        return ""
    behind = f"more than {_MINORS_BEHIND} minor versions older than the API server, {version}"
    return f"{_named(outdated)} {behind}: Kubernetes does not support that; are these nodes still there?"


def servers(nodes: Iterable[Node]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the oldest and the newest version of an API server that allows these kubelets; None if none does."""
    kubelets = [kubelet for node in nodes if (kubelet := _minor(node.kubelet_version))]
    if not kubelets:
        return None
    oldest, newest = max(kubelets), _later(min(kubelets), _MINORS_BEHIND)
    return (oldest, newest) if oldest <= newest else None


def newest_kubelet(nodes: Iterable[Node]) -> str:
    """Return the newest minor version of the kubelets, which the API server has at least; empty if unknown."""
    newest = max(filter(None, (_minor(node.kubelet_version) for node in nodes)), default=None)
    return _text(newest) if newest else ""


def minor_note(version: str, nodes: Iterable[Node], judged_by: str) -> Iterator[str]:
    """Yield a note if the API server, of ``version`` or as the kubelets show, has another minor than ``judged_by``.

    None if that is the nearest one that is modelled: a note on the version says so.
    """
    server, judge = _minor(version), _minor(judged_by)
    by = f"the rules judge by {judged_by} (--kubernetes-version)"
    if server:
        if _nearest(server) != judge:
            yield f"the file of the cluster is from Kubernetes {_text(server)}, {by}"
    elif judge and (kubelets := servers(nodes)) and not _nearest(kubelets[0]) <= judge <= _nearest(kubelets[1]):
        yield f"by their kubelets, the nodes have an API server from {_text(kubelets[0])} to {_text(kubelets[1])}, {by}"


def _nearest(version: tuple[int, int]) -> tuple[int, int]:
    return _minor(modelled(_text(version))) or version


def _named(nodes: list[Node]) -> str:
    names = first_few([f"{node.name}: {node.kubelet_version}" for node in nodes])
    return f"{many(len(nodes), 'kubelet')} ({names}) {plural(len(nodes), 'is', 'are')}"


def _later(version: tuple[int, int], minors: int) -> tuple[int, int]:
    return version[0], version[1] + minors


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
