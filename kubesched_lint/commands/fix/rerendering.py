"""What kustomizations become when the files that they are made from change: the tool itself says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Skipped
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.kustomizing import render_trees
from kubesched_lint.sources.manifests.kustomize.overlays import outcome_of
from kubesched_lint.sources.manifests.kustomize.tools import kustomizer
from kubesched_lint.sources.manifests.loader import Entry, documents_of
from kubesched_lint.sources.manifests.rendered.provenance import KustomizeRendering
from kubesched_lint.sources.manifests.yaml.split import text_of

Outcome = InputFile | Skipped | InputError


def rendered_again(
    documents: Iterable[Document], changed: Mapping[str, bytes], kinds: Kinds
) -> dict[KustomizeRendering, tuple[Entry, ...]]:
    """Return the objects of each rendering that has another text of a file than ``changed``, or why there are none.

    ``changed``: real path of a file → the bytes that the tool reads in place of those on the disk.
    """
    made: dict[KustomizeRendering, list[Document]] = {}
    for document in documents:
        if isinstance(document.rendering, KustomizeRendering):
            made.setdefault(document.rendering, []).append(document)
    texts = {path: text_of(path, data) for path, data in changed.items()}
    old = [rendering for rendering in made if _is_old(rendering, texts)]
    return {
        rendering: tuple(_entries(outcome, made[rendering], kinds)) for rendering, outcome in _outcomes(old, changed)
    }


def _is_old(rendering: KustomizeRendering, texts: Mapping[str, object]) -> bool:
    names = set(map(os.path.basename, texts))
    alike = (file for file in rendering.files if os.path.basename(file.path) in names)
    return any(texts.get(os.path.realpath(file.path), file.text) != file.text for file in alike)


def _entries(outcome: Outcome, before: Sequence[Document], kinds: Kinds) -> Iterator[Entry]:
    """Yield the objects, applied by what applied those ``before``, and with what that fills in."""
    if not isinstance(outcome, InputFile):
        yield InputError(outcome.path, outcome.reason if isinstance(outcome, Skipped) else outcome.message)
        return
    filling = next((document.filled_in.by for document in before if document.filled_in is not None), None)
    outcome = replace(outcome, path=before[0].path, filling=filling, delivered_by=before[0].delivered_by)
    for entry in documents_of(outcome, kinds.is_read):
        if isinstance(entry, Document | InputError):
            yield entry


def _outcomes(
    renderings: Sequence[KustomizeRendering], changed: Mapping[str, bytes]
) -> Iterator[tuple[KustomizeRendering, Outcome]]:
    """Yield what each rendering becomes; the tool renders them together."""
    tool = kustomizer()
    trees: list[KustomizeTree | None] = [
        old_rendering.again(changed) if old_rendering.again else None for old_rendering in renderings
    ]
    whole = [tree for tree in trees if tree is not None and tree.obstacle is None]
    done = render_trees(whole, tool) if tool is not None and whole else {}
    for rendering, tree in zip(renderings, trees, strict=True):
        if tool is None or tree is None:
            yield rendering, InputError(rendering.kustomizations[0].path, "cannot be rendered again")
        else:
            yield rendering, tree.obstacle or outcome_of(tree, tool, done[tree.key], rendering.mendable)
