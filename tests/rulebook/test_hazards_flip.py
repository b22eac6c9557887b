"""Taking away what a card's finding points at silences the card's rule, and makes no other rule speak.

The flips know nothing of the rules. They cut the unit of the manifest around the marked place (a term, a constraint, a
toleration, an entry of a selector, a port, ...) or the comment that is marked; lower the replicas that are marked, or
leave them out; and
where it is a toleration that is missing, tolerate the taints of the example's cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.findings import Finding
from kubesched_lint.rulebook.examples import Example
from tests.rulebook.shipped_cards import TRIAL, report_of

LOADER, DUMPER = (getattr(yaml, f"C{name}", getattr(yaml, name)) for name in ("SafeLoader", "SafeDumper"))
UNITS = {
    "tolerations",
    "topologySpreadConstraints",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
    "matchExpressions",
    "matchFields",
    "matchLabelKeys",
    "nodeSelector",
    "ports",
    "volumes",
    "volumeClaimTemplates",
    "schedulingGates",
    "resourceClaims",
    "requests",
    "selectors",
    "constraints",
}
"""Lists and mappings whose entries can each be taken away; the entry around the marked place is."""

OPTIONAL = {"minDomains", "hostPort", "namespaces", "namespaceSelector"}
"""Fields that can be taken away alone, so that the rest of their unit stays."""

WHOLE = {("metadata", "name"), ("apiVersion",), ("spec", "template", "spec")}
"""Places that stand for the object as a whole: nothing in it can be cut to see whether that was the cause."""

NOT_FLIPPED = {
    "all-feasible-nodes-cordoned": "the cause is a cordon, which is in the cluster and not in the manifest",
    "daemonset-creation-order": "the cause is the order of two kinds of objects; each of them is sound by itself",
    "defined-twice": "the cause is a second document of the same name; each of them is sound by itself",
    "device-api-off": "the cause is the apiVersion, which cannot be cut",
    "noexecute-evicts-running": "the cause is a running pod that bears no taint; the manifest is its successor",
    "statefulset-fix-needs-pod-deletion": "the cause is a broken pod that runs; no edit of the manifest mends it",
}
"""Cards none of whose findings goes away by a flip, and where the cause is instead."""

PARTLY_FLIPPED = {
    "anti-affinity-symmetry": "one example marks a workload for the anti-affinity of pods that run",
    "api-would-reject": "two examples mark the apiVersion, which cannot be cut",
    "nodeselector-matches-nothing": "one example marks the pod, for affinity that a profile of the scheduler adds",
    "podgroup-ignored": "one example marks the name, for a feature gate, which is of the cluster",
    "pool-limit-reached": "one example marks the name, for replicas that are an autoscaler's",
    "pod-count-limit": "one example is a DaemonSet on nodes that are full: it has no replicas to lower",
    "set-does-not-fit": "one example is two DaemonSets: they have no replicas to lower",
}
"""Cards of which one or two examples mark an object as a whole, while the others are flipped."""

AROUSED = {
    ("admission-refuses-pods", "api-would-reject"): "a pod with no containers breaks no policy, and is no pod",
    ("architecture-left-open", "api-would-reject"): "a container without an image is refused",
    ("autoscalers-exceed-cluster", "api-would-reject"): "an autoscaler without a maximum is refused",
    ("cronjob-runs-pile-up", "api-would-reject"): "a CronJob without a schedule is refused",
    ("extended-resource-missing", "dedicated-half"): "a pod that asks for no GPU has no reason to tolerate its taint",
    ("groups-block-each-other", "api-would-reject"): "a group without a policy is refused",
    ("hpa-measures-no-request", "api-would-reject"): "a pod without containers is refused",
    ("pods-without-requests", "api-would-reject"): "a pod without containers is refused",
    ("runs-only-by-eviction", "resource-insufficient-free"): "without its priority it evicts nobody, and waits",
    ("scale-out-stays-pending", "hpa-measures-no-request"): "without a request there is nothing to measure",
    ("scale-to-hpa-max-pending", "api-would-reject"): "an autoscaler without a maximum is refused",
    ("spread-key-set-intersection", "topology-key-partially-labelled"): "the constraint that stays names a rare label",
    ("spread-version-label-not-bumped", "spread-selector-misses-self"): "its selector still asks for the label cut",
    ("waiver-expired", "spread-selector-noop"): "what the waiver hid is to be seen again",
    ("waiver-unexplained", "spread-selector-noop"): "what the waiver hid is to be seen again",
}
"""(card, other rule) that speaks once the hazard is gone, and why that is right."""


def linted(example: Example) -> list[Finding]:
    report = report_of(example)
    assert not report.errors, report.errors
    return [finding for finding in report.findings if finding.suppressed is None]


def marked(manifest: str, finding: Finding) -> tuple[int, Path]:
    """The document and the path of the value (or of the key's value) at which the finding's span begins."""
    begin = (finding.location.span.line - 1, finding.location.span.column - 1)
    deepest: tuple[int, Path] | None = None
    for number, root in enumerate(yaml.compose_all(manifest, Loader=LOADER)):
        for path, node, key in _nodes(root, ()):
            starts = {(n.start_mark.line, n.start_mark.column) for n in (node, key) if n is not None}
            if begin in starts and (deepest is None or len(path) > len(deepest[1])):
                deepest = number, path
    assert deepest is not None, f"nothing begins at {begin}"
    return deepest


def _nodes(node: yaml.Node, path: Path) -> Iterator[tuple[Path, yaml.Node, yaml.Node | None]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), value, key
            yield from _nodes(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), item, None
            yield from _nodes(item, (*path, index))
    elif not path:
        yield path, node, None


def flips(example: Example, finding: Finding) -> Iterator[Example]:
    """The example without the finding's cause; several when the mark alone does not tell what that is."""
    uncommented = without_comment(example.manifest, finding)
    if uncommented is not None:
        yield replace(example, manifest=uncommented, marks=())
        return
    number, path = marked(example.manifest, finding)
    if path in WHOLE:
        return
    objects = list(yaml.safe_load_all(example.manifest))
    if finding.at[-1:] == ("image",) and "image" not in at(objects[number], finding.at[:-1]):
        at(objects[number], finding.at[:-1])["image"] = "registry.example.com/shop/web:1.0"
    elif path[-1] in ("replicas", "minCount"):
        at(objects[number], path[:-1])[path[-1]] = fewer(at(objects[number], path), finding)
    elif objects[number]["kind"] == "PodDisruptionBudget" or "scaleTargetRef" in path:
        del objects[number]
    else:
        cut(objects[number], unit(path))
    yield replace(example, manifest=yaml.dump_all(objects, Dumper=DUMPER, sort_keys=False), marks=())
    if path[-1] == "replicas":
        objects = list(yaml.safe_load_all(example.manifest))
        cut(objects[number], path)
        yield replace(example, manifest=yaml.dump_all(objects, Dumper=DUMPER, sort_keys=False), marks=())
    if "tolerations" in path[-2:] or path[-1] == "nodeSelector":
        objects = list(yaml.safe_load_all(example.manifest))
        spec = path[: path.index("tolerations")] if "tolerations" in path else path[:-1]
        if path[-2] == "tolerations":
            cut(objects[number], path)
        at(objects[number], spec).setdefault("tolerations", []).extend(missing_tolerations(example))
        yield replace(example, manifest=yaml.dump_all(objects, Dumper=DUMPER, sort_keys=False), marks=())


def missing_tolerations(example: Example) -> list[dict[str, str]]:
    cluster = yaml.safe_load(example.cluster or "{}")
    taints = [taint for node in cluster.get("nodes", []) for taint in node.get("taints", [])]
    keys = {t["key"] if isinstance(t, dict) else t.split("=")[0].split(":")[0] for t in taints}
    return [{"key": key, "operator": "Exists"} for key in sorted(keys)]


def without_comment(manifest: str, finding: Finding) -> str | None:
    """Without the comment in which the finding stands; None if it stands in no comment."""
    lines = manifest.split("\n")
    line = lines[finding.location.span.line - 1]
    before, sign, _ = line.partition("#")
    if not sign or len(before) >= finding.location.span.column:
        return None
    lines[finding.location.span.line - 1] = before.rstrip()
    return "\n".join(lines)


def fewer(replicas: int, finding: Finding) -> int:
    """As many less as the proof counts too many, so that the flip is the smallest there is; else one."""
    demand, supply = finding.evidence.demand, finding.evidence.supply
    if demand is None or supply is None:
        return 1
    return max(1, replicas - (demand - supply))


def unit(path: Path) -> Path:
    """The part of the path that leads to the innermost entry which can be taken away; all of it if there is none."""
    if path[-1] in OPTIONAL:
        return path
    ends = [i + 2 for i, step in enumerate(path[:-1]) if step in UNITS]
    return path[: ends[-1]] if ends else path


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def cut(root: dict[str, Any], path: Path) -> None:
    """Deletes, then drops parents that are left empty, and what names a volume or claim that went."""
    gone = at(root, path)
    del at(root, path[:-1])[path[-1]]
    for end in range(len(path) - 1, 0, -1):
        if path[end - 1] in ("spec", "template", "metadata") or at(root, path[:end]):
            break
        del at(root, path[: end - 1])[path[end - 1]]
    if path[-2] in ("volumes", "volumeClaimTemplates"):
        _drop(root, "volumeMounts", gone.get("name") or gone["metadata"]["name"])
    if path[-2] == "resourceClaims":
        _drop(root, "claims", gone["name"])


def _drop(value: Any, names: str, gone: str) -> None:
    """Drops what names a volume or claim that went: the entries of every list called ``names``."""
    if isinstance(value, list):
        for item in value:
            _drop(item, names, gone)
    elif isinstance(value, dict):
        if names in value:
            value[names] = [entry for entry in value[names] if entry["name"] != gone]
        for item in value.values():
            _drop(item, names, gone)


def own_findings(example: Example) -> list[Finding]:
    return [finding for finding in linted(example) if finding.rule == example.slug]


def weight(findings: list[Finding]) -> tuple[int, int]:
    """An error that becomes a warning is progress as well: pods fit into the empty nodes, not yet beside others."""
    return len(findings), sum(finding.severity for finding in findings)


_HAS_FLIP: dict[tuple[str, str], bool] = {}


def has_flip(example: Example) -> bool:
    key = str(example), example.manifest
    if key not in _HAS_FLIP:
        _HAS_FLIP[key] = any(True for _ in flips(example, own_findings(example)[0]))
    return _HAS_FLIP[key]


def silenced(example: Example) -> Example:
    """Flipped until its rule is silent; an example may show several causes. Fails where a flip is no progress."""
    own = own_findings(example)
    assert own
    while own:
        example = min(flips(example, own[0]), key=lambda one: weight(own_findings(one)))
        left = own_findings(example)
        assert weight(left) < weight(own), f"still says {left[0].message!r} of\n{example.manifest}"
        own = left
    return example


def newly_speaking(example: Example) -> list[Finding]:
    before = {finding.rule for finding in linted(example)}
    return [finding for finding in linted(silenced(example)) if finding.rule not in before]


FINDING = [example for example in TRIAL.examples if example.has("finding")]
TO_FLIP = [example for example in FINDING if example.slug not in NOT_FLIPPED]


@cache
def flipped() -> list[Example]:
    return [example for example in TO_FLIP if has_flip(example)]


@pytest.mark.parametrize("example", TO_FLIP, ids=str)
def test_without_its_cause_the_rule_is_silent_and_no_other_begins_to_speak(example: Example) -> None:
    if not has_flip(example):
        assert example.slug in PARTLY_FLIPPED
        return
    surprises = [f for f in newly_speaking(example) if (example.slug, f.rule) not in AROUSED]
    listing = "\n".join(f"{finding.rule}: {finding.message}" for finding in surprises)
    assert not surprises, f"{listing}\nof\n{silenced(example).manifest}"


def test_the_tables_of_what_is_not_flipped_are_exact() -> None:
    assert {card.slug for card in TRIAL.cards} - {example.slug for example in flipped()} == set(NOT_FLIPPED)
    left = [example.slug for example in TO_FLIP if example not in flipped()]
    assert Counter(left) == {slug: 2 if why.startswith("two") else 1 for slug, why in PARTLY_FLIPPED.items()}


@pytest.mark.parametrize("example", [e for e in FINDING if e.slug in NOT_FLIPPED], ids=str)
def test_what_the_table_excuses_does_not_go_away_by_a_flip(example: Example) -> None:
    assert all(own_findings(one) for one in flips(example, own_findings(example)[0]))


def test_every_entry_of_what_may_be_aroused_is_needed() -> None:
    concerned = {slug for slug, _ in AROUSED}
    spoke = {(e.slug, f.rule) for e in flipped() if e.slug in concerned for f in newly_speaking(e)}
    assert spoke == set(AROUSED)


_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")


def within_supply(example: Example) -> Example | None:
    """With as few replicas as the proof of its finding says that there is room for; None where that is no answer."""
    finding = own_findings(example)[0]
    demand, supply = finding.evidence.demand, finding.evidence.supply
    objects = list(yaml.safe_load_all(example.manifest))
    if not demand or not supply or any(o["kind"] in _SCALERS for o in objects):
        return None
    for value in objects:
        if (value["kind"], value["metadata"]["name"]) == (finding.object.kind, finding.object.name):
            replicas = value["spec"].get("replicas", 0) - (demand - supply)
            if replicas >= 1:
                value["spec"]["replicas"] = replicas
                return replace(example, manifest=yaml.dump_all(objects, Dumper=DUMPER, sort_keys=False), marks=())
    return None


AT_THE_BOUNDARY = {
    ("anti-affinity-exceeds-domains", "rollout-surge-deadlock"): "a pod in each domain leaves none to the surge pod",
    ("spread-mindomains-rollout", "spread-rollout-skew"): "the rollout ends, but old pods count while it lasts",
    ("shared-claim-pins-pods", "shared-claim-pins-pods"): "those that have room there still depend on one node",
    ("podgroup-min-count", "podgroup-min-count"): "pods that are created in order are no more with fewer replicas",
    ("claim-shared-by-replicas", "claim-shared-by-replicas"): "a rolling update makes a second pod of one replica",
}
"""(card, rule) that speaks at as many replicas as there is room for, and why that is right."""


@pytest.mark.parametrize("example", FINDING, ids=str)
def test_the_numbers_of_a_proof_are_exact(example: Example) -> None:
    """As many replicas less as it says are too many, and that proof is gone: what may stay is milder."""
    fits = within_supply(example)
    if fits is None:
        return
    before, after = linted(example), linted(fits)
    known = {(finding.rule, finding.severity) for finding in before if finding.rule != example.slug}
    worst = min(finding.severity for finding in before if finding.rule == example.slug)
    wrong = [
        f"{finding.rule}: {finding.message}"
        for finding in after
        if (finding.rule, finding.severity) not in known
        and (example.slug, finding.rule) not in AT_THE_BOUNDARY
        and not (finding.rule == example.slug and finding.severity < worst)
    ]
    assert not wrong, f"{wrong} of\n{fits.manifest}"


def test_proofs_with_numbers_are_common_enough_to_be_tried() -> None:
    assert len({example.slug for example in FINDING if within_supply(example) is not None}) >= 12


@pytest.mark.parametrize("card", TRIAL.cards, ids=lambda card: card.slug)
def test_every_card_has_an_example_that_speaks_and_one_that_is_silent(card: Any) -> None:
    shown = [e for e in TRIAL.examples if e.slug == card.slug and not e.setting.skipped]
    said: set[bool] = set()
    for example in shown:
        if len(said) < 2:
            said.add(card.slug in {finding.rule for finding in linted(example)})
    assert said == {True, False}
