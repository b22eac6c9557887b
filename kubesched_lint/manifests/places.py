"""Where values stand: a document's text is parsed once more, with positions, when a finding asks."""

from __future__ import annotations

from functools import lru_cache

from kubesched_lint.findings import Path, Span


def span_of(text: str, line: int, path: Path, *, key: bool) -> Span:
    """The span of the value (or key) at ``path``; of the nearest parent that exists."""
    node = _composed(text)
    at, found_key = node, None
    for depth, step in enumerate(path):
        child = _child(at, step)
        if child is None:
            return _span(at, line)
        found_key, at = child
        if key and depth == len(path) - 1 and found_key is not None:
            return _span(found_key, line)
    return _span(at, line)


@lru_cache(maxsize=16)
def _composed(text: str):  # type: ignore[no-untyped-def]
    import yaml

    return yaml.compose(text, Loader=yaml.CSafeLoader)


def _child(node, step):  # type: ignore[no-untyped-def]
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if key.value == str(step):
                return key, value
        for key, value in node.value:
            if key.value == "<<":
                for base in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    found = _child(base, step)
                    if found is not None:
                        return found
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None


def _span(node, line: int) -> Span:  # type: ignore[no-untyped-def]
    if node is None:
        return Span(line, 1, line, 1)
    start, end = node.start_mark, node.end_mark
    return Span(start.line + line, start.column + 1, end.line + line, end.column + 1)
