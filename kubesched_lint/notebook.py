"""Results show in a notebook, such as Jupyter, as the text that their command prints."""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def html_of(result: object) -> str | None:
    """Return a part of a page. Reports are in higher layers: the library registers the function for ``Shown``."""
    return None


class Shown:
    """A result of the library."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return what IPython shows; None leaves it to ``repr``."""
        return html_of(self)
