"""What kustomizations become when the files that they are made from change: the tool itself says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Document, Skipped
from kubesched_lint.manifests.inputs import InputFile
from kubesched_lint.manifests.kustomize_tree import tree_of
from kubesched_lint.manifests.kustomizing import render_trees
from kubesched_lint.manifests.loader import Entry, documents_of
from kubesched_lint.manifests.overlays import outcome_of
from kubesched_lint.manifests.provenance import KustomizeRendering
from kubesched_lint.manifests.rendering import kustomizer
from kubesched_lint.manifests.split import text_of


def rendered_again(
    documents: Iterable[Document], changed: Mapping[str, bytes], kinds: Kinds
) -> dict[KustomizeRendering, tuple[Entry, ...]]:
    """Return the objects of each rendering that has another text of a file than ``changed``, or why there are none.

    ``changed`` maps paths as they are displayed to the bytes that the tool reads in place of those on the disk.
    """
    renderings = dict.fromkeys(d.rendering for d in documents if isinstance(d.rendering, KustomizeRendering))
    texts = {path: text_of(path, data) for path, data in changed.items()}
    old = [one for one in renderings if any(texts.get(file.path, file.text) != file.text for file in one.files)]
    return {one: tuple(_entries(one, changed, kinds)) for one in old}


def _entries(rendering: KustomizeRendering, changed: Mapping[str, bytes], kinds: Kinds) -> Iterator[Entry]:
    outcome = _outcome(rendering, changed)
    if not isinstance(outcome, InputFile):
        yield InputError(outcome.path, outcome.reason if isinstance(outcome, Skipped) else outcome.message)
        return
    for entry in documents_of(outcome, kinds.is_read):
        if isinstance(entry, Document | InputError):
            yield entry


def _outcome(rendering: KustomizeRendering, changed: Mapping[str, bytes]) -> InputFile | Skipped | InputError:
    path = rendering.kustomizations[0].path
    tool, tree = kustomizer(), tree_of(os.path.dirname(path) or os.curdir)
    if tool is None or tree is None or not rendering.as_it_stands:
        return InputError(path, "cannot be rendered again")
    for shown, data in changed.items():
        real = os.path.realpath(shown)
        if real in tree.files:
            tree.files[real] = data
    return tree.obstacle or outcome_of(tree, tool, render_trees([tree], tool)[tree.key])
