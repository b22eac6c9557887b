"""Reports by hand over ``fixtures/golden/manifests``, so that renderers are tested without an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import (
    Edit,
    Finding,
    Fix,
    InputError,
    Related,
    Report,
    Severity,
    Skip,
    Summary,
    Suppression,
    pattern,
    proof,
    witness,
)
from kubesched_lint.report.findings.context import CardView, RenderContext

FOLDER = Path(__file__).parent.parent.parent / "fixtures" / "golden" / "manifests"
ZONES = "eu-west-1a, eu-west-1b and eu-west-1c"


def lines_of(path: str) -> Sequence[str]:
    file = FOLDER / path
    return file.read_text("utf-8").split("\n") if file.is_file() else ()


def at(path: str, needle: str, nth: int = 1, *, lines: int = 0) -> Location:
    """The place of the ``nth`` occurrence of ``needle``; it ends ``lines`` lines further down, at that line's end."""
    text = lines_of(path)
    found = [(n, line.index(needle) + 1) for n, line in enumerate(text, 1) if needle in line]
    line, column = found[nth - 1]
    if lines:
        return Location(path, Span(line, column, line + lines, len(text[line + lines - 1]) + 1))
    return Location(path, Span(line, column, line, column + len(needle)))


def card(slug: str) -> CardView | None:
    if slug == "api-would-reject":
        return None
    return CardView(
        slug,
        f"What {slug} is about",
        Severity.ERROR if slug.startswith("anti") else Severity.WARNING,
        markdown=f"# {slug}\n\n## What it finds\n\nA hazard, with `code`.\n",
        family="anti-affinity",
        references=("https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",),
    )


@pytest.fixture
def context() -> Callable[..., RenderContext]:
    def made(width: int = 0, color: bool = False) -> RenderContext:
        return RenderContext(lines_of, card, color, width, version="0.1.0")

    return made


CACHE = ObjectRef("Deployment", "shop", "cache")
SUMMARY = Summary(
    files=2,
    documents=2,
    workloads=2,
    rules=17,
    cluster="9 nodes in 3 zones, fixed, from sketch.yaml; no running pods",
)
EXCEEDS = Finding(
    rule="anti-affinity-exceeds-domains",
    severity=Severity.ERROR,
    message="3 of 6 pods of Deployment shop/cache stay Pending: each needs a zone of its own, and there are 3 that it "
    "can use",
    help="run at most 3 replicas, add nodes in further zones, or spread with topologySpreadConstraints, which allow "
    "more than one pod per zone",
    evidence=proof(
        f"demand 6 > supply 3 zones ({ZONES})",
        demand=6,
        supply=3,
        assumes=("the 9 nodes of the sketch are all there are",),
    ),
    object=CACHE,
    location=at("cache.yaml", "labelSelector:", 1, lines=6),
    related=(
        Related(at("cache.yaml", "6"), "6 replicas"),
        Related(at("cache.yaml", "topology.kubernetes.io/zone"), "one replica in each of these"),
        Related(at("cache.yaml", "{pool: general}"), "only 3 of 9 nodes have this label"),
        Related(Location("sketch.yaml", Span(3, 1, 3, 20)), "the nodes it can use"),
    ),
    fingerprint="6d0f1c2b3a495867",
    fixes=(
        Fix("spread over zones instead", False, (Edit("cache.yaml", at("cache.yaml", "podAntiAffinity").span, "x"),)),
    ),
)
ORDER = Finding(
    rule="daemonset-creation-order",
    severity=Severity.WARNING,
    message="pods of DaemonSet observability/agent may find no room on 2 nodes: agent.yaml is applied after "
    "cache.yaml, whose pods fill them",
    help="apply the DaemonSet first, or give it a priority class above that of Deployment shop/cache",
    evidence=witness(
        "an order in which a DaemonSet pod stays Pending",
        trace=(
            "cache-1 … cache-6 are created and bound to worker-1 … worker-6",
            "worker-1 has 200m CPU left, and agent-1 asks for 300m",
            "agent-1 stays Pending: 0/9 nodes are available: 1 Insufficient cpu, 8 node(s) didn't match Pod's node "
            "affinity/selector.",
        ),
        assumes=("no pod ends meanwhile",),
    ),
    object=ObjectRef("DaemonSet", "observability", "agent"),
    location=at("agent.yaml", "cpu: 300m"),
    related=(Related(at("cache.yaml", "{cpu: 500m, memory: 1Gi}"), "applied before, and takes the room"),),
    fingerprint="0011223344556677",
)


def crowd() -> Report:
    names = [line.split("name: ")[1].split(",")[0] for line in lines_of("crowd.yaml") if line.startswith("metadata")]
    findings = []
    for number, name in enumerate(names, 1):
        replicas = 2 + (number - 1) % 3
        findings.append(
            Finding(
                rule="nodeselector-matches-nothing",
                severity=Severity.ERROR,
                message=f"all {replicas} replicas of Deployment shop/{name} stay Pending: no node has the label "
                "disk-type=ssd",
                help="write disktype=ssd, which 3 nodes have",
                evidence=proof("0 of 9 nodes have disk-type=ssd; 3 have disktype=ssd", demand=replicas, supply=0),
                object=ObjectRef("Deployment", "shop", name),
                location=at("crowd.yaml", "disk-type: ssd", number),
            )
        )
    return Report(tuple(reversed(findings)), summary=Summary(1, 19, 19, rules=17, cluster="9 nodes in 3 zones"))


def hostile() -> Report:
    def finding(location: Location, message: str, *related: Related) -> Finding:
        return Finding(
            "spread-selector-noop",
            Severity.NOTE,
            message,
            "",
            pattern(),
            ObjectRef("Pod", "", "商店"),
            location,
            related,
        )

    def span(line: int, column: int, end: int) -> Location:
        return Location("hostile.yaml", Span(line, column, line, end))

    return Report(
        (
            finding(span(1, 3, 5), "escapes of a name \x1b[31mred\u202e\x00 and\na second line"),
            finding(at("hostile.yaml", "部門"), "wide characters", Related(at("hostile.yaml", "商店"), "店")),
            finding(at("hostile.yaml", "value"), "tabs"),
            finding(at("hostile.yaml", "topology.kubernetes.io/zone"), "a line far too long"),
            finding(at("hostile.yaml", "xxxx"), "the left of it", Related(at("hostile.yaml", "b:"), "its end")),
            finding(span(5, 7, 7), "nothing at the end of a line"),
            finding(at("hostile.yaml", "ok"), "behind an emoji"),
            finding(span(99, 1, 5), "a line that is not there", Related(span(100, 1, 2), "nor is this")),
            finding(Location("gone.yaml", Span(2, 1, 4, 1)), "a file that is not there"),
            finding(Location("nowhere.yaml", Span(0, 0, 0, 0)), "no place at all"),
        ),
        summary=Summary(3, 3, 0, rules=1),
    )


def troubled() -> Report:
    needy = [Skip(f"rule-{n:02}", "needs a cluster (--cluster)") for n in range(1, 13)]
    return Report(
        (EXCEEDS,),
        (
            *needy,
            Skip("affinity-deadlock-cycle", "needs running pods, which the snapshot does not hold"),
            Skip("", "chart/templates/web.yaml is a Helm template: render it first (helm template)"),
        ),
        (
            InputError("cache.yaml", "spec.replicas: expected an integer, found the string 'six'", 7, 13),
            InputError("broken.yaml", "did not find expected ',' or '}'", 3, 14),
            InputError("absent.yaml", "no such file"),
        ),
        Summary(
            files=14,
            documents=2043,
            workloads=1,
            rules=5,
            unread_kinds={"Rollout": 2, "ConfigMap": 2000, "ServiceMonitor": 31, "Secret": 9},
            notes=("2 Rollouts wrap a pod template: their pods are not seen (argo-rollouts)",),
        ),
    )


def waived() -> Report:
    at_line = at("cache.yaml", "podAntiAffinity")
    mine = Finding(
        "topology-key-missing-on-nodes",
        Severity.WARNING,
        "a warning that counts",
        "do this",
        proof(""),
        CACHE,
        at("cache.yaml", "kubernetes.io/hostname"),
        fingerprint="aa",
        fixes=(Fix("drop the term", True),),
    )
    return Report(
        (
            replace(EXCEEDS, suppressed=Suppression("moved to another cluster next week", at_line)),
            replace(ORDER, suppressed=Suppression("", known=True)),
            mine,
        ),
        summary=SUMMARY,
    )


@pytest.fixture
def reports() -> dict[str, Report]:
    """Name → report: what every renderer must be able to show."""
    return {
        "hazards": Report((ORDER, EXCEEDS), summary=SUMMARY),
        "crowd": crowd(),
        "hostile": hostile(),
        "troubled": troubled(),
        "waived": waived(),
        "clean": Report(summary=SUMMARY),
    }
