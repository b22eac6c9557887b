"""What a person reads of the premises of a finding: the text report says ``unless`` where a premise may be false."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kubesched_lint.engine.cluster.cluster import NO_MORE_NODES, STATES_LAST
from kubesched_lint.findings import Finding, Severity

_STANDING = re.compile(
    r"the nodes (?:of the snapshot )?stay\b|nothing else is created|pods become ready as soon as"
    r"|no \S.* beyond the manifests$|the old pods stand on nodes|bare pods that are not in"
    r"|pods preempt as kube-scheduler|no pod of a Job has ended|drivers announce no other"
    r"|the running pods of others stay|pods that are not in the manifests stay|the manifest changes nothing of "
    r"|whether the manifest changes the template of "
)
"""Premises of all that is judged from files: they say nothing of one finding."""
_OF_GROUPS = r"there are no others than the node groups? (.*?) \(.*\)"
_UNLESS = (
    (
        r"no autoscaler adds a node( [^(]+)? \((.*?)(?:: [^;]*)?; --fixed if none does\)",
        r"an autoscaler adds a node\1 (possible: \2)",
    ),
    (_OF_GROUPS, r"there are other node groups than \1"),
    (r"fresh pods show no other room than (.*)", r"fresh pods show other room than \1"),
    (rf"{STATES_LAST}: (.*)", r"the transient states of today end (\1)"),
    (r"what was not read does not define it: (.*)", r"what was not read defines it: \1"),
    (r"the pools add no more nodes than planned", "the pools add more nodes than planned"),
    (r"no other (\w+) (.*)", r"another \1 \2"),
    (r"no (\S+ [a-z]+s) (.*)", r"a \1 \2"),
)
"""A premise that denies something → what would help."""


_OF_MORE_NODES = re.compile(r"; (no further node|more nodes of) .*$")


def without_more_nodes(proof: str) -> str:
    """Return a proof without what it says of further nodes: that holds for all proofs on a cluster."""
    return _OF_MORE_NODES.sub("", proof)


def is_standing(premise: str) -> bool:
    return _STANDING.match(premise) is not None


def own_premises(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield ``unless`` or ``assumes`` and its text for the premises of one finding that are not standing ones."""
    premises = finding.evidence.assumes
    knows_groups = any(re.match(_OF_GROUPS, premise) for premise in premises)  # more of their nodes would not help
    for premise in premises:
        if not is_standing(premise) and not (knows_groups and premise.startswith(NO_MORE_NODES)):
            yield unless(premise) if finding.severity is not Severity.ERROR else ("assumes", premise)


def unless(premise: str) -> tuple[str, str]:
    """Return (``unless``, what would help) for a premise that denies something, else (``assumes``, the premise)."""
    for denies, helps in _UNLESS:
        match = re.fullmatch(denies, premise)
        if match:
            return "unless", match.expand(helps)
    return "assumes", premise


def standing(findings: Iterable[Finding]) -> Mapping[str, int]:
    """Return standing premise → number of findings that rest on it."""
    shown: dict[str, int] = {}
    for finding in findings:
        for premise in filter(is_standing, finding.evidence.assumes):
            shown[premise] = shown.get(premise, 0) + 1
    return shown
