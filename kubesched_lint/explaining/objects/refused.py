"""What the API server refuses, as data of a scenario: every command asks here before it judges an object."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.apiserver.pod_groups import gate_of
from kubesched_lint.engine.apiserver.refusals import Refusals, refusals
from kubesched_lint.engine.apiserver.validate import ApiServerAnswer
from kubesched_lint.engine.apiserver.values.causes import Cause, field_of
from kubesched_lint.engine.base.places import Location, Path, Source
from kubesched_lint.engine.base.plain import mappings_at, value_at
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.scenario.gangs import gates_of
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.sources.manifests.document import Document, location_of
from kubesched_lint.sources.manifests.recognizing.classify import rendered_text, unfilled, word_to_replace

GONE, UNDECODED, INVALID = 404, 400, 422
REQUIRED = "Required value"
_LACKING = (REQUIRED, "Not found")
UNKNOWN_FIELD = "unknown field "
CHOICE = re.compile(r'Unsupported value: "([^"]*)": supported values: (".*")')
_NO_SELECTOR = "invalid label selector"
_MISMATCH = "`selector` does not match template `labels`"
_NAMED_ANEW: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
POD_SPECS: tuple[Path, ...] = (
    ("spec", "jobTemplate", "spec", "template", "spec"),
    ("spec", "template", "spec"),
    ("spec",),
)


class Refusal(Struct, frozen=True):
    """One refusal of one object."""

    document: Document
    cause: Cause
    answer: ApiServerAnswer
    gate: str = ""
    """The feature gate, off by default, that would make it acceptable."""
    open_gate: str = ""
    """The feature gate without which the field is dropped; nobody stated whether it is on."""
    is_completed_elsewhere: bool = False

    @property
    def is_certain(self) -> bool:
        return not (self.gate or self.open_gate or self.is_completed_elsewhere or self.is_dropped)

    @property
    def is_dropped(self) -> bool:
        """Whether only a strict client is refused: helm-controller is none, and the server drops the field."""
        return self.document.is_whole and self.is_at_key

    @property
    def text(self) -> str:
        """The server's sentence, after the field that it is about."""
        cause = self.cause
        if self.answer.code == GONE or self.is_at_key:
            return cause.message
        if self.answer.code == UNDECODED and not cause.field:  # the error of a quantity names no field
            return f"{field_of(cause.path)}: {cause.message}"
        return cause.message if self.answer.code == UNDECODED else str(cause)

    @property
    def sentence(self) -> str:
        """The server's answer and its place: ``app.yaml:12: 422: spec.selector: Required value``."""
        place = self.location
        return f"{place.path}:{place.span.line}: {self.answer.code}: {self.text}"

    @property
    def is_at_key(self) -> bool:
        """Whether the field is to blame, and not its value."""
        return self.cause.message.startswith(UNKNOWN_FIELD)

    @property
    def location(self) -> Location:
        return location_of(self.document, self.cause.path, key=self.is_at_key)


class Judgement(Struct, frozen=True):
    """``left``: what a kustomization may change; ``open_word``: a placeholder that somebody fills in first."""

    told: tuple[Refusal, ...] = ()
    left: str = ""
    open_word: str = ""


def refusals_of(scenario: Scenario, document: Document) -> Refusals:
    """Return why the API server of this version would refuse a document."""
    if scenario.refused is not None:
        return scenario.refused.get(document, ())
    if document not in scenario.answered:
        answer = tuple(refusals(document.value, scenario.premises.kubernetes_version))
        scenario.answered[document] = answer
    return scenario.answered[document]


def judged(document: Document, scenario: Scenario) -> Judgement:
    """Return the refusals, one for each place, without those that somebody makes acceptable before it is applied."""
    if document.is_stored or (document.moves and not document.is_whole):
        return Judgement()  # a server has stored it, or it stands for a custom resource that has other fields
    seen: set[Path] = set()
    told: list[Refusal] = []
    left = open_word = ""
    is_filled = False
    for cause, answer in refusals_of(scenario, document):
        if document.unrendered and _is_rendered_away(document, cause, answer.code):
            left = left or ("" if answer.code == UNDECODED else f"{cause.field}: {_in_short(cause)}")
            continue
        # One refusal per place: further causes there repeat the first.
        if cause.path in seen or (cause.message.endswith(_MISMATCH) and ("spec", "selector") in seen):
            continue
        gate, is_on = _gate_of_field(document, cause, scenario)
        if _follows(document, cause) or (gate and is_on is False):
            continue
        word = unfilled(value_at(document.value, cause.path)) or _word_to_replace(document, cause)
        if word:
            open_word = open_word or word
            is_filled = is_filled or cause.path in _NAMED_ANEW
            continue
        seen.add(cause.path)
        left_open = gate if is_on is None and answer.code == INVALID else ""
        elsewhere = _is_completed_elsewhere(document, cause)
        told.append(Refusal(document, cause, answer, _gate(document, cause), left_open, elsewhere))
    if is_filled:  # who fills in its name or namespace may add what it lacks
        told = [refusal for refusal in told if not refusal.cause.message.startswith(_LACKING)]
    return Judgement(tuple(told), left, open_word)


# --- objects ----------------------------------------------------------------------------------------------------------

RefusedObjects = Mapping[Source | None, tuple[Refusal, ...]]
"""A source → its refusals."""


@once_per_scenario
def refused_objects(scenario: Scenario) -> RefusedObjects:
    """Return the manifests that the API server certainly refuses."""
    if scenario.refused is not None and not scenario.refused:
        return {}
    refused: dict[Source | None, tuple[Refusal, ...]] = {}
    for source in _sources(scenario):
        certain = tuple(refusal for refusal in judged(source, scenario).told if refusal.is_certain)
        if certain:
            refused[source] = certain
    return refused


@once_per_scenario
def accepted(scenario: Scenario) -> Scenario:
    """Return the scenario without the objects that the API server refuses: they are not there for the others."""
    refused = refused_objects(scenario)
    return scenario.with_manifests(without(scenario.manifests, refused)) if refused else scenario


def without(manifests: Inventory, refused: RefusedObjects) -> Inventory:
    lists: dict[str, Any] = {
        name: tuple(listed for listed in items if _source(listed) not in refused) for name, items in manifests.lists()
    }
    return replace(manifests, **lists)


def what_is_refused(scenario: Scenario, told: Collection[Source | None] = ()) -> tuple[str, ...]:
    """Return one line for each refused object; without the server's words for those whose sources are in ``told``."""
    return tuple(
        f"the API server refuses {object_of(reasons[0].document)}: all else is judged as if it were not applied"
        + ("" if source in told else f" ({sentence(reasons)})")
        for source, reasons in refused_objects(scenario).items()
    )


def sentence(refusals_told: Iterable[Refusal]) -> str:
    """Return the server's sentences with their places."""
    return first_few(
        [f"{place.path}:{place.span.line}: {r.answer.code}: {r.text}" for r, place in _placed(refusals_told)]
    )


def _placed(refusals_told: Iterable[Refusal]) -> Iterable[tuple[Refusal, Location]]:
    return ((refusal, refusal.location) for refusal in refusals_told)


def object_of(document: Document) -> str:
    where = f"{document.namespace}/" if document.namespace else ""
    return f"{document.kind} {where}{document.name or document.generate_name}"


def _sources(scenario: Scenario) -> Iterable[Document]:
    sources = dict.fromkeys(_source(listed) for _, items in scenario.manifests.lists() for listed in items)
    sources.update(dict.fromkeys(map(_source, scenario.unserved)))
    return [source for source in sources if isinstance(source, Document)]


def _source(listed: Any) -> Any:
    return getattr(listed, "source", None)


# --- what is no refusal, and what may be none -------------------------------------------------------------------------


def _follows(document: Document, cause: Cause) -> bool:
    """Return whether it misses a volume that is there: a volume that is refused itself does not count as one."""
    if cause.path[-1:] != ("name",) or cause.path[-3:-2] != ("volumeMounts",) or len(cause.path) < 5:
        return False
    volumes = value_at(document.value, (*cause.path[:-5], "volumes"))
    name = value_at(document.value, cause.path)
    return isinstance(volumes, list) and any(isinstance(v, dict) and v.get("name") == name for v in volumes)


def _word_to_replace(document: Document, cause: Cause) -> str | None:
    """Return the word in capitals that a person replaces, in the value or in an unknown key (``MY_IMAGE|-image``)."""
    if cause.message.startswith(UNKNOWN_FIELD):
        key = str(cause.path[-1])
        return None if key.isidentifier() else word_to_replace(key, (), document.path)
    if cause.path and f'"{cause.path[-1]}"' in cause.message and (word := word_to_replace(cause.path[-1], (), "")):
        return word  # a key is refused itself, such as the name of a resource
    paths: tuple[Path, ...] = (cause.path,)
    if cause.path in _NAMED_ANEW and str(value_at(document.value, cause.path)).isupper():
        paths = _NAMED_ANEW  # the namespace ``APPNS`` of an object called ``APPNAME``
    if CHOICE.search(cause.message):
        return None
    labels = value_at(document.value, (*cause.path, "matchLabels")) if cause.message.endswith(_NO_SELECTOR) else None
    if isinstance(labels, dict):
        paths = tuple((*cause.path, "matchLabels", key) for key in labels)
    return next(filter(None, (word_to_replace(document.value, path, document.path) for path in paths)), None)


def _in_short(cause: Cause) -> str:
    return _MISMATCH if cause.message.endswith(_MISMATCH) else cause.message.partition(":")[0]


def _is_rendered_away(document: Document, cause: Cause, code: int) -> bool:
    """Return whether a kustomization may correct it: labels, selectors, images, volumes, names and quotes."""
    if code != UNDECODED:
        if cause.path in _NAMED_ANEW:
            return True  # namePrefix and nameSuffix; ``namespace`` names a Namespace itself
        return cause.message.startswith(_LACKING) or cause.message.endswith(_MISMATCH)
    span = document.span(cause.path)
    written = document.line_text(span.line)[span.column - 1 : span.end_column - 1]
    return rendered_text(cause.path, value_at(document.value, cause.path), written) is not None


def _gate_of_field(document: Document, cause: Cause, scenario: Scenario) -> tuple[str, bool | None]:
    """Return the feature gate without which the API server drops the field, and whether it is on; None: not stated."""
    gate = gate_of(document.value, cause.path)
    return gate, gates_of(scenario).get(gate)


def _gate(document: Document, cause: Cause) -> str:
    """Return the feature gate, off by default, that would make it acceptable; empty if no setting helps."""
    spec = document.value.get("spec")
    if (
        document.kind != "HorizontalPodAutoscaler"
        or cause.path != ("spec", "minReplicas")
        or not isinstance(spec, dict)
    ):
        return ""
    metrics = [metric.get("type") for metric in mappings_at(spec, ("metrics",))]
    beyond = {"Object", "External"} & {kind for kind in metrics if isinstance(kind, str)}
    return "HPAScaleToZero" if spec.get("minReplicas") == 0 and beyond else ""


def _is_completed_elsewhere(document: Document, cause: Cause) -> bool:
    """Return whether the object is only a part: an operator, or the object that exists, has what is missing.

    Such a part is a workload none of whose containers has an image, or a Service with neither ports nor a selector.
    """
    if not cause.message.startswith((REQUIRED, "Not found")):
        return False
    if document.kind == "Service":
        spec = document.value.get("spec") or {}
        return isinstance(spec, dict) and spec.keys().isdisjoint(("ports", "selector"))
    containers = next(filter(None, (value_at(document.value, (*pod, "containers")) for pod in POD_SPECS)), None)
    return isinstance(containers, list) and not any(isinstance(c, dict) and c.get("image") for c in containers)
