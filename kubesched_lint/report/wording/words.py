"""Texts that several reports share: explanations as lines, relative paths, and text escaped for HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.engine.base.text import first_few, joined, many
from kubesched_lint.findings import Evidence, Finding
from kubesched_lint.printing import escaped, visible
from kubesched_lint.report.wording.premises import own_premises, without_more_nodes
from kubesched_lint.sources.manifests.document import RENDERED

_AGE = re.compile(r", (?:newest entry|captured) (\d+ \w+) ago$")
_AFTER_FILTERS = re.compile(
    r"\.? (no new claims to deallocate|still not schedulable|deallocation of ResourceClaim completed|preemption:).*$"
)
PREVIEW = "the rule is new: at most a warning for now, and its texts may change"


def annotated(location: Location) -> Location:
    """The location for an annotation of a service: for rendered text, which is in no file, the nearest file."""
    if location.near is None and location.path.endswith(RENDERED):  # a template that is not here
        return Location(location.path.removesuffix(RENDERED), Span(1, 1, 1, 1))
    return location.near or location


def nodes_in_short(cluster: str) -> str:
    """Return ``9 nodes (cluster/nodes.json, 8 days old)`` for the description of a cluster."""
    words = _AGE.sub(r", \1 old", cluster.partition(";")[0])
    nodes, of, source = words.partition(" from ")
    source = source.replace(" (a sketch)", ", a sketch")
    return f"{nodes.rstrip(',')}{of and f' ({source})'}"


def without_preemption(message: str) -> str:
    """Return a message of the scheduler without what it says of preemption and claims."""
    return _AFTER_FILTERS.sub("", message).removesuffix(".")


def subject(finding: Finding, first: Finding) -> str:
    """Return the object of a finding beside the first, with its kustomization: ``Deployment shop/web (overlays/prod)``.

    Without one it has its targets, if they are others than those of the first.
    """
    where = finding.rendered or ("" if finding.targets == first.targets else first_few(finding.targets))
    return f"{finding.object} ({where})" if where else str(finding.object)


def evidence_word(evidence: Evidence) -> str:
    """Return what stands before the evidence: ``proof``, ``witness``, ``policy``; a pattern is the ``reason``."""
    return "reason" if evidence.kind == "pattern" else evidence.kind


def explanation(finding: Finding, *, in_short: bool = False) -> Iterator[str]:
    """Yield the evidence, the premises and the help; ``in_short``: without what holds for all findings of a report."""
    evidence, where = finding.evidence, finding.location
    if where.path.endswith(RENDERED):
        yield f"in the rendered text: {where.path}:{where.span.line}:{where.span.column}"
    if finding.rendered:
        yield f"rendered: {finding.rendered}"
    if finding.targets:
        yield f"targets: {', '.join(finding.targets)}"
    if evidence.text:
        text = without_more_nodes(evidence.text) if in_short else evidence.text
        yield f"{evidence_word(evidence)}: {text}"
    yield from (f"{number}. {event}" for number, event in enumerate(evidence.trace, 1))
    premises = own_premises(finding) if in_short else (("assumes", premise) for premise in evidence.assumes)
    yield from (f"{label}: {premise}" for label, premise in premises)
    if finding.help:
        yield f"help: {finding.help}"
    if finding.preview:
        yield f"preview: {PREVIEW}"


def overlays(findings: Iterable[Finding], environments: Collection[str]) -> str:
    """Return the overlays that have the findings, by the names of the environments if they are such: ``prod, staging``.

    Empty if the place of a finding tells which it is.
    """
    paths = list(dict.fromkeys(filter(None, (finding.rendered for finding in findings))))
    names = [path.rpartition("/")[2] for path in paths]
    return first_few(names if set(environments).issuperset(names) else paths)


def environment_keys(environments: Sequence[str]) -> Sequence[Mapping[str, str]]:
    """Return a JSON key for each environment that something holds in; what holds in all stands once, without one."""
    return [{"environment": name} for name in environments] or [{}]


def relative(path: str, root: str) -> str:
    """``path`` relative to ``root`` if it is inside it; else unchanged."""
    if root and path.startswith(f"{root.rstrip('/')}/"):
        path = path[len(root.rstrip("/")) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return path


def at(place: Location | None) -> str:
    """Return ``PATH:LINE``, or the path alone; empty without a place."""
    return "" if place is None else at_line(relative(place.path, ""), place.span.line)


def at_line(path: str, line: int) -> str:
    """Return ``PATH:LINE``; the path alone if no line is known."""
    return f"{path}:{line}" if line else path


def esc(text: str) -> str:
    """Return ``text`` for HTML content and quoted attributes; it holds no markup and no control characters."""
    if not text.isascii():  # lone surrogates stand for bytes of odd file names
        text = text.encode("utf-8", "backslashreplace").decode()
    return visible(escaped(text).replace("'", "&#39;"))


def utf8(text: str) -> str:
    """Return ``text`` without lone surrogates, which stand for bytes that are not UTF-8 and which decoders refuse."""
    return text.encode("utf-8", "backslashreplace").decode()


def short_names(refs: Iterable[ObjectRef]) -> Mapping[ObjectRef, str]:
    """Return the name of each workload: ``shop/web``, with the kind where two share it."""
    each = tuple(dict.fromkeys(refs))
    shared = Counter(ref.title for ref in each)
    return {ref: f"{ref.kind.lower()}/{ref.title}" if shared[ref.title] > 1 else ref.title for ref in each}


def shadowed(refs: Collection[ObjectRef], more: int = 0, names: Mapping[ObjectRef, str] | None = None) -> str:
    """Return the line that counts what would have blocked: objects, and ``more`` that has no name."""
    if not refs and not more:
        return "shadow: nothing would have blocked"
    known = short_names(refs) if names is None else names
    whose = f" ({first_few([known[ref] for ref in refs])})" if refs else ""
    return f"shadow: {many(len(refs) + more, 'thing')} would have blocked{whose}; exit 0"


_SHORT = {"Deployment": "deploy", "StatefulSet": "sts", "DaemonSet": "ds", "ReplicaSet": "rs", "CronJob": "cj"}
"""Kind → its short name for kubectl."""


def to_be_added(kinds: Sequence[str]) -> str:
    """Return the kinds that a cluster file lacks, and what adds them."""
    short = ",".join(_SHORT.get(kind, kind.lower()) for kind in kinds)
    return f"{joined([f'{kind}s' for kind in kinds])}: add {short} to kubectl get, or use `kubesched-lint snapshot`"


def key_name(key: str) -> str:
    """Return the last part of a label's key: ``zone`` of topology.kubernetes.io/zone."""
    return key.rpartition("/")[2]
