"""Helm's output names the template of each document, but not the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, Path, Span
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import RENDERED, Document, Skipped, Unread, Written
from kubesched_lint.sources.manifests.yaml.fragments import Fragment
from kubesched_lint.sources.manifests.yaml.split import parts

MARK = "# Source: "


class Made(Struct, frozen=True):
    """What a chart became: the text that Helm wrote; ``why`` if it wrote none, which then says why."""

    text: str = ""
    why: str = ""
    is_refused: bool = False
    """Whether that is an error of the input: an archive that nobody should install."""


class ChartRendering(Struct, frozen=True, eq=False):
    """The text that Helm rendered.

    ``templates`` maps Helm's template names (``shop/templates/web.yaml``) to the files that exist.
    ``starts`` lists the first line of each document, in order, with the name of its template.
    """

    text: str
    how: str
    templates: dict[str, Written]
    starts: tuple[tuple[int, str], ...]
    shown: dict[str, str] = field(default_factory=dict)
    """Displayed path → template name."""
    release: Location | None = None
    """The place of what installs the chart, for templates that are in no file."""

    @property
    def files(self) -> tuple[Written, ...]:
        return ()  # no waiver is searched in templates: Helm copies waivers into its output with the other comments

    def origins(self, document: Document) -> Iterator[Fragment]:
        return iter(())

    def setting(self, document: Document, paths: Sequence[Path]) -> None:
        return None  # a template has expressions where the text has values

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        """Return the location in the rendered text, with the template as the place nearby.

        The line in the template is known only if exactly one line names the key.
        """
        span = document.span(path, key=key)
        written = self.templates.get(self.shown.get(document.path, ""))
        if written is None:
            return Location(document.path, span, self.release)
        line = _line_of(path, written.text)
        return Location(document.path, span, Location(written.path, Span(line, 1, line, 1)))

    def path_at(self, line: int, otherwise: str) -> str:
        """Return the path to display for a line of the text."""
        name = ""
        for start, its_name in self.starts:
            if start > line:
                break
            name = its_name
        if not name:
            return otherwise
        return next((path for path, template_name in self.shown.items() if template_name == name), otherwise)

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        """Return the entry with the path of its template."""
        path = self.path_at(entry.line, entry.path)
        if isinstance(entry, Document):
            return replace(entry, path=path, rendering=self)
        return replace(entry, path=path)


def chart_rendering(text: str, how: str, find: Callable[[str], Written | None]) -> ChartRendering | None:
    """Return None for a text that Helm did not render. ``find`` returns the template of a given name, or None."""
    starts = tuple(_starts(text))
    names = {name for _, name in starts if name}
    if not names:
        return None
    templates = {name: template for name in sorted(names) if (template := find(name)) is not None}
    shown = {f"{templates[name].path if name in templates else name}{RENDERED}": name for name in sorted(names)}
    return ChartRendering(text, how, templates, starts, shown)


def _starts(text: str) -> Iterator[tuple[int, str]]:
    """Yield (first line, template name) of each document; the name is empty if the document names no template."""
    for part in parts(text):
        lines = part.text.split("\n", 2)
        head = lines[1] if lines[0].startswith("---") and len(lines) > 1 else lines[0]
        yield part.line, head.removeprefix(MARK).strip() if head.startswith(MARK) else ""


def _line_of(path: Path, template: str) -> int:
    """Return the line that is the only one to name the last key of the path, or the nearest parent key; else 1."""
    lines = template.split("\n")
    for step in reversed(path):
        if isinstance(step, str):
            has = [number for number, line in enumerate(lines, 1) if line.lstrip(" -").startswith(f"{step}:")]
            if len(has) == 1:
                return has[0]
    return 1
