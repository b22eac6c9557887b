"""The programs of this machine that render manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree


class Tool(Struct, frozen=True):
    """``command`` is the command line before the folder's name; ``name`` is what users call the tool."""

    name: str
    command: tuple[str, ...]

    def building(self, tree: KustomizeTree) -> Tool:
        """Return the tool as it builds a tree: without the load restrictor if Flux does; the copy has no other files
        than those of the repository.
        """
        if not tree.root:
            return self
        return replace(self, command=(*self.command, "--load-restrictor", "LoadRestrictionsNone"))


def kustomizer() -> Tool | None:
    """Return the tool that renders kustomizations on this machine, if any."""
    if kubectl := _which("kubectl"):
        return Tool("kubectl kustomize", (kubectl, "kustomize"))
    if kustomize := _which("kustomize"):
        return Tool("kustomize build", (kustomize, "build"))
    return None


def helm() -> Tool | None:
    """Return the tool that renders charts on this machine, if any."""
    program = _which("helm")
    return Tool("helm template", (program, "template", "--skip-tests")) if program else None


def _which(name: str) -> str | None:
    from shutil import which  # most runs meet neither a kustomization nor a chart

    return which(name)
