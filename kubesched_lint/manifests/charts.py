"""What Helm renders says of each document which template it came from; not which line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubesched_lint.findings import InputError, Location, Path, Span
from kubesched_lint.manifests.document import RENDERED, Written
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from kubesched_lint.manifests.document import Document, Skipped, Unread
    from kubesched_lint.manifests.fragments import Fragment

MARK = "# Source: "


@dataclass(frozen=True, slots=True, eq=False)
class ChartRendering:
    """``templates`` maps the names that Helm gives (``shop/templates/web.yaml``) to files that are there.

    ``starts`` are the lines on which a document begins, in order, with the name of the template it came from.
    """

    text: str = field(repr=False)
    how: str
    templates: dict[str, Written]
    starts: tuple[tuple[int, str], ...]
    shown: dict[str, str] = field(default_factory=dict)
    """Names of templates by the paths that are shown for them."""

    @property
    def files(self) -> tuple[Written, ...]:
        return ()  # waivers pass through Helm with the other comments: none is looked for in the templates

    def origins(self, document: Document) -> Iterator[Fragment]:
        return iter(())

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        """In the rendered text, near a line of the template; which one is told when only one names the key."""
        span = document.span(path, key=key)
        written = self.templates.get(self.shown.get(document.path, ""))
        if written is None:
            return Location(document.path, span)
        line = _line_of(path, written.text)
        return Location(document.path, span, Location(written.path, Span(line, 1, line, 1)))

    def path_at(self, line: int, otherwise: str) -> str:
        """The path to show for a line of the text."""
        name = ""
        for start, its_name in self.starts:
            if start > line:
                break
            name = its_name
        if not name:
            return otherwise
        return next((path for path, one in self.shown.items() if one == name), otherwise)

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        """The entry by the path of its template."""
        from kubesched_lint.manifests.document import Document

        path = self.path_at(entry.line, entry.path)
        if isinstance(entry, Document):
            return replace(entry, path=path, rendering=self)
        return replace(entry, path=path)


def chart_rendering(text: str, how: str, find: Callable[[str], Written | None]) -> ChartRendering | None:
    """None for a text that no chart made. ``find`` gives the template that Helm calls by a name, if it can be read."""
    starts = tuple(_starts(text))
    names = {name for _, name in starts if name}
    if not names:
        return None
    templates = {name: found for name in sorted(names) if (found := find(name)) is not None}
    shown = {f"{templates[name].path if name in templates else name}{RENDERED}": name for name in sorted(names)}
    return ChartRendering(text, how, templates, starts, shown)


def _starts(text: str) -> Iterator[tuple[int, str]]:
    """The name is empty for a document that names none, which belongs to no template."""
    from kubesched_lint.manifests.split import parts

    for part in parts(text):
        lines = part.text.split("\n", 2)
        head = lines[1] if lines[0].startswith("---") and len(lines) > 1 else lines[0]
        yield part.line, head.removeprefix(MARK).strip() if head.startswith(MARK) else ""


def _line_of(path: Path, template: str) -> int:
    """The only line that names the key of the value, or the nearest around it of which that is true; else the first."""
    lines = template.split("\n")
    for step in reversed(path):
        if isinstance(step, str):
            has = [number for number, line in enumerate(lines, 1) if line.lstrip(" -").startswith(f"{step}:")]
            if len(has) == 1:
                return has[0]
    return 1
