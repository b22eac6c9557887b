"""Why a run checked nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, describes_cluster
from kubesched_lint.sources.manifests.loader import InputFile, find_files


def nothing_checked(manifests: ManifestSet, options: Options, paths: Sequence[str]) -> InputError:
    """Return the error that nothing was checked, with the reason if it is known."""
    where = paths[0] if paths else "<no input>"
    if manifests.skipped:
        first = manifests.skipped[0]
        return InputError(first.path, f"nothing was checked: {first.reason}", first.line)
    if manifests.left_out:
        first = max(manifests.left_out, key=lambda item: item.left_out)
        return InputError(first.path, f"no manifests, only {first.reason}: nothing was checked")
    description = next(filter(describes_cluster, manifests.unread), None)
    if description is not None:
        message = f"no manifests, only a cluster ({description.kind}): nothing was checked. Use --cluster for a cluster"
        return InputError(description.path, message, description.line)
    if any(unread.kind for unread in manifests.unread):
        return InputError(where, "only a kustomization that is not rendered: nothing was checked")
    if options.exclude.patterns and _are_excluded(paths, options):
        patterns = ", ".join(options.exclude.patterns[:SHOWN])
        return InputError(where, f"nothing was checked: all files are excluded (exclude: {patterns})")
    return InputError(where, "no Kubernetes object found: nothing was checked" if paths else "nothing to check")


def _are_excluded(paths: Sequence[str], options: Options) -> bool:
    """Whether there are files without the exclusions; searches again, after a run that found none."""
    return any(isinstance(file, InputFile) for file in find_files([p for p in paths if p != "-"], render=False))
