"""The optional packages that some answers need."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

CEL_NEEDED = "pip install 'kubesched-lint[cel]'"
LSP_NEEDED = "pip install 'kubesched-lint[lsp]'"


@cache
def has_cel() -> bool:
    """Return whether expressions can be evaluated. Without protobuf cel-expr-python would end the process."""
    return all(find_spec(name) is not None for name in ("cel_expr_python", "google", "google.protobuf"))


def has_lsp() -> bool:
    """Return whether the language server can start."""
    return find_spec("pygls") is not None
