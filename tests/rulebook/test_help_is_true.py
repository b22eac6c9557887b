"""Numbers in help hold: with the number the finding is gone, with one more it is there. Counts fit their nouns."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, examples, rules_for
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.wording import fill

BOOK = Rulebook.shipped()
ADVICE = (  # (what help says, what that is in the manifest, with the number)
    (r"run at most (\d+) replicas?", r"replicas: \d+", "replicas: {}"),
    (r"lower maxReplicas of \S+ \S+ to (?:at most )?(\d+)", r"maxReplicas: \d+", "maxReplicas: {}"),
    (r"lower maxReplicaCount of \S+ \S+ to (?:at most )?(\d+)", r"maxReplicaCount: \d+", "maxReplicaCount: {}"),
    (r"set minCount to at most (\d+)", r"minCount: \d+", "minCount: {}"),
)
CONDITION = " and set maxUnavailable: 1 (else a rollout gets stuck)"
STRATEGY = "strategy: {rollingUpdate: {maxUnavailable: 1}}"
NODES = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
  status: {allocatable: {cpu: "4", memory: 7Gi, pods: "29"}}
- apiVersion: v1
  kind: Node
  metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
  status: {allocatable: {cpu: "3", memory: 7Gi, pods: "29"}}
"""
RUNNING = """\
- apiVersion: v1
  kind: Pod
  metadata:
    name: NAME
    namespace: prod
    ownerReferences: [{apiVersion: apps/v1, kind: OWNER, name: owner, controller: true, uid: "1"}]
  spec: {nodeName: NODE, containers: [{name: a, image: x, resources: {requests: {cpu: CPU}}}]}
  status: {phase: Running}
"""
BIG = """\
apiVersion: apps/v1
kind: KIND
metadata: {name: big, namespace: shop}
spec:
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec: {containers: [{name: big, image: x, resources: {requests: {cpu: CPU}}}]}
"""
LOG = BIG.replace("KIND", "DaemonSet").replace("big", "log").replace("CPU", "300m")


def found(example: Example) -> tuple[Finding, ...]:
    return lint_example(example, rules_for(example, BOOK), BOOK).findings


def advised() -> Iterator[tuple[Example, Finding, re.Match[str], str, str]]:
    for rule in BOOK:
        texts = "".join(rule.helps.values())
        if not re.search(r"run at most|\{fewer\}|lower \{bound\}|minCount to", texts):
            continue
        for example in examples(BOOK.card(rule.slug)):
            for finding in (f for f in found(example) if f.rule == rule.slug):
                for says, at, to in ADVICE:
                    number = re.search(says, finding.help)
                    if number and len(re.findall(at, example.manifest)) == 1:
                        yield example, finding, number, at, to


def test_with_the_number_of_the_help_the_finding_is_gone_and_with_one_more_it_is_not() -> None:
    tested = set()
    for example, finding, number, at, to in advised():
        for more in (0, 1):
            text = re.sub(at, to.format(int(number[1]) + more), example.manifest)
            if CONDITION in finding.help:
                text = re.sub(r"^  replicas:", f"  {STRATEGY}\n  replicas:", text, flags=re.MULTILINE)
            left = [f for f in found(replace(example, manifest=text)) if f.object == finding.object]
            assert (finding.rule in {f.rule for f in left}) is bool(more), (str(example), finding.help)
            assert more or not [f.rule for f in left if f.severity is Severity.ERROR], (str(example), finding.help)
        tested.add(finding.rule)
    assert tested == {
        "anti-affinity-exceeds-domains", "anti-affinity-hpa-max-exceeds-domains", "devices-too-few",
        "hostport-replicas-exceed-nodes", "needs-many-zones", "podgroup-min-count", "quota-refuses-pods",
        "scale-to-hpa-max-pending", "workload-min-count",
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "running", "beside", "most"), [
    ("Deployment", (), (), "4"),
    ("Deployment", (("a", "ReplicaSet", "n1", "2"),), (), "3"),
    ("Deployment", (("a", "ReplicaSet", "n1", "2"), ("b", "ReplicaSet", "n2", "500m")), (), "2500m of cpu (the other"),
    ("Deployment", (("a", "DaemonSet", "n1", "260m"), ("b", "DaemonSet", "n2", "260m")), (), "3740m of cpu (the"),
    ("Deployment", (), (LOG,), "3700m of cpu (the DaemonSets there"),
    ("Deployment", (("a", "ReplicaSet", "n1", "2"), ("b", "ReplicaSet", "n2", "2")), (LOG,), "1700m of cpu (the other"),
    ("DaemonSet", (), (), "3"),
    ("DaemonSet", (), (LOG,), "2700m of cpu (the DaemonSets there"),
])  # fmt: skip
def test_what_fits_by_the_help_fits_beside_what_runs_there(
    kind: str, running: tuple[tuple[str, ...], ...], beside: tuple[str, ...], most: str
) -> None:
    cluster = NODES
    for name, owner, node, cpu in running:
        pod = RUNNING.replace("NAME", name).replace("OWNER", owner).replace("NODE", node)
        cluster += pod.replace("CPU", f'"{cpu}"')

    def example(cpu: str) -> Example:
        own = BIG.replace("KIND", kind).replace("CPU", f'"{cpu}"')
        return Example("resource-exceeds-any-node", "", 1, "---\n".join((own, *beside)), cluster=cluster)

    (finding,) = (f for f in found(example("5")) if f.rule == "resource-exceeds-any-node")
    number = re.search(r"request at most (\S+) of cpu(?:;| \(the)", finding.help)
    assert number
    assert f"at most {most}" in finding.help
    fitting = found(example(number[1]))
    assert [f"{f.rule}: {f.message}" for f in fitting if f.object.name == "big" and f.rule in RESOURCES] == []
    milli = int(float(number[1].removesuffix("m")) * (1 if number[1].endswith("m") else 1000)) + 1
    assert [f.rule for f in found(example(f"{milli}m")) if f.rule in RESOURCES], "one more does not fit"


def test_the_help_about_a_host_port_leaves_out_nodes_whose_port_is_held() -> None:
    def example(replicas: int) -> Example:
        ports = f"spec:\n  replicas: {replicas}\n  {STRATEGY}"
        own = BIG.replace("KIND", "Deployment").replace("CPU", "1").replace("spec:", ports, 1)
        own = own.replace("image: x,", "image: x, ports: [{containerPort: 80, hostPort: 80}],")
        pod = RUNNING.replace("NAME", "a").replace("OWNER", "ReplicaSet").replace("NODE", "n1").replace("CPU", "1")
        held = pod.replace("image: x,", "image: x, ports: [{containerPort: 80, hostPort: 80}],")
        return Example("hostport-replicas-exceed-nodes", "", 1, own, cluster=NODES + held)

    (finding,) = (f for f in found(example(3)) if f.rule == "hostport-replicas-exceed-nodes")
    assert "run at most 1 replica (running pods hold the port on 1 node)" in finding.help
    assert not found(example(1))
    assert found(example(2))


RESOURCES = (
    "resource-exceeds-any-node", "resource-insufficient-free", "deploy-leaves-pending", "set-does-not-fit",
    "daemonset-starvation", "daemonset-creation-order",
)  # fmt: skip


# --- grammar ----------------------------------------------------------------------------------------------------------

_WRONG = re.compile(
    r"(?<![\w./:=+-] )(?<![\w./:=-])1 (?:\w+ )?(?:replicas|nodes|pods|zones|domains|places|constraints|terms|claims)\b"
    r"|\bof the 1 nodes?\b|\bnone of the 1\b|\beach of the 1\b"
)


def test_counts_agree_with_their_nouns_where_there_is_one_of_everything() -> None:
    wrong = []
    for rule in BOOK:
        example = next(e for e in examples(BOOK.card(rule.slug)) if e.has("finding"))
        manifest = re.sub(r"replicas: \d+", "replicas: 1", example.manifest)
        cluster = re.sub(r"count: \d+", "count: 1", example.cluster) if example.cluster else None
        for finding in found(replace(example, manifest=manifest, cluster=cluster)):
            labels = (related.label for related in finding.related)
            texts = (finding.message, finding.help, finding.evidence.text, *finding.evidence.assumes, *labels)
            wrong += [f"{finding.rule}: {text}" for text in texts if _WRONG.search(text)]
    assert wrong == []


def test_a_word_that_goes_with_a_number_may_hold_it() -> None:
    template = "{nodes:the only node does not match|none of the # nodes matches} it"
    assert fill(template, {"nodes": 1}) == "the only node does not match it"
    assert fill(template, {"nodes": 6}) == "none of the 6 nodes matches it"
