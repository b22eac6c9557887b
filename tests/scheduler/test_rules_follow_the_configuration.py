"""Rules judge pods as their profile sees them: with what it adds, without the filters that it disables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.fix.proposals import remedies
from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.linter.results.applies import WorkloadsByFeature
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
ZONE = "topology.kubernetes.io/zone"
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b], allocatable: {cpu: "4", memory: 16Gi}}
- {name: batch, count: 1, zones: [c], taints: [team=batch:NoSchedule], allocatable: {cpu: "4", memory: 16Gi}}
- {name: edge, count: 1, labels: {pool: edge}, allocatable: {cpu: "4", memory: 16Gi}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0", resources: {requests: {cpu: 100m, memory: 64Mi}}}
"""
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
DAEMONS = WEB.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 6\n", "")
ALONE = """affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
"""


def spreading(*constraints: str, name: str = "default-scheduler") -> str:
    """Return a profile with default constraints; its first constraint is in its seventh line."""
    lines = "\n".join(f"      - {{{constraint}}}" for constraint in constraints)
    return (
        f"- schedulerName: {name}\n  pluginConfig:\n  - name: PodTopologySpread\n    args:\n"
        f"      defaultingType: List\n      defaultConstraints:\n{lines}\n"
    )


def hard(key: str = ZONE, more: str = "") -> str:
    return f"maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule{more}"


def adding(pool: str) -> str:
    return (
        "- pluginConfig:\n  - name: NodeAffinity\n    args:\n      addedAffinity:\n"
        "        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n"
        f"          - matchExpressions: [{{key: pool, operator: In, values: [{pool}]}}]\n"
    )


def without(plugin: str) -> str:
    return f"- plugins: {{filter: {{disabled: [{{name: {plugin}}}]}}}}\n"


def report_of(
    folder: Path, text: str, profiles: str, *, select: tuple[str, ...] = (), cluster_text: str = CLUSTER
) -> Report:
    web, cluster, scheduler = (folder / name for name in ("web.yaml", "cluster.yaml", "scheduler.yaml"))
    web.write_text(text)
    cluster.write_text(cluster_text)
    scheduler.write_text(HEAD + profiles)
    stated = ClusterOptions(scheduler_config=str(scheduler))
    request = Request((str(web),), str(cluster), cluster_options=stated)
    report = check(request, Options(select=select), Rulebook.shipped())
    assert report.errors == ()
    return report


def found(
    folder: Path, text: str, profiles: str, severity: Severity = Severity.WARNING, cluster: str = CLUSTER
) -> list[Finding]:
    report = report_of(folder, text, profiles, cluster_text=cluster)
    return [one for one in report.findings if one.severity >= severity]


def slugs(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.severity.word, finding.rule) for finding in findings]


# --- What a profile adds ---------------------------------------------------------------------------------------------


def test_a_default_constraint_is_blamed_at_its_line(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, WEB, spreading(hard("example.com/rack")))
    assert slugs([finding]) == [("error", "topology-key-missing-on-nodes")]
    assert (Path(finding.location.path).name, finding.location.span.line) == ("web.yaml", 9)
    (related,) = finding.related
    assert (Path(related.location.path).name, related.location.span.line) == ("scheduler.yaml", 10)
    assert related.label == "the spread constraint that the profile default-scheduler adds"
    assert "scheduler.yaml:10 adds the spread constraint" in finding.help


def test_workloads_with_one_default_constraint_have_one_cause(tmp_path: Path) -> None:
    report = report_of(tmp_path, f"{WEB}---\n{WEB.replace('web', 'api')}", spreading(hard("example.com/rack")))
    (finding,) = one_per_cause(report).findings
    assert [part.object.name for part in finding.also if part.rule == finding.rule] == ["api"]


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        (hard(), "spread-tainted-domain-blocks"),
        (hard(more=", minDomains: 5"), "spread-too-few-domains-min"),
    ],
)
def test_errors_of_spread_rules_hold_for_default_constraints(tmp_path: Path, constraint: str, rule: str) -> None:
    errors = found(tmp_path, WEB, spreading(constraint), Severity.ERROR)
    assert slugs(errors) == [("error", rule)]
    assert errors[0].related[0].label.startswith("the spread constraint that the profile")
    own = f"topologySpreadConstraints:\n      - {{{constraint}, labelSelector: {{matchLabels: {{app: web}}}}}}\n"
    written = WEB.replace("containers:", f"{own}      containers:")
    expected = [one.message for one in found(tmp_path, written, "- {}\n", Severity.ERROR)]
    assert [one.message for one in errors] == expected


def test_a_pod_with_constraints_of_its_own_does_not_get_them(tmp_path: Path) -> None:
    own = (
        "topologySpreadConstraints:\n      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, "
        "whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}\n      containers:"
    )
    assert found(tmp_path, WEB.replace("containers:", own), spreading(hard("example.com/rack"))) == []


def test_only_pods_of_the_profile_get_them(tmp_path: Path) -> None:
    profiles = f"- {{schedulerName: default-scheduler}}\n{spreading(hard('example.com/rack'), name='racks')}"
    assert found(tmp_path, WEB, profiles) == []
    named = WEB.replace("containers:", "schedulerName: racks\n      containers:")
    (finding,) = found(tmp_path, named, profiles)
    assert finding.related[0].label == "the spread constraint that the profile racks adds"


def test_a_daemonset_is_not_told_about_constraints_that_nobody_wrote(tmp_path: Path) -> None:
    """A Service gives its pods a selector; with nodeAffinityPolicy Honor the constraint does nothing."""
    assert found(tmp_path, DAEMONS + SERVICE, spreading(hard("kubernetes.io/hostname"))) == []
    rack = spreading(hard("example.com/rack"))
    assert slugs(found(tmp_path, DAEMONS + SERVICE, rack)) == [("error", "topology-key-missing-on-nodes")]
    assert found(tmp_path, DAEMONS, rack) == []


def test_added_affinity_is_blamed_at_its_line(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, WEB, adding("nowhere"))
    assert slugs([finding]) == [("error", "nodeselector-matches-nothing")]
    assert [related.location.span.line for related in finding.related] == [10]
    assert found(tmp_path, WEB, adding("edge")) == []


def test_a_selector_beside_added_affinity_is_blamed_with_it(tmp_path: Path) -> None:
    selecting = WEB.replace("containers:", f"nodeSelector: {{{ZONE}: a}}\n      containers:")
    (finding,) = found(tmp_path, selecting, adding("edge"))
    assert (finding.location.span.line, finding.related[0].location.span.line) == (10, 10)
    assert "and the node affinity that the scheduler default-scheduler adds" in finding.message


def test_a_label_that_is_called_like_a_setting_is_the_manifests(tmp_path: Path) -> None:
    selecting = WEB.replace("containers:", "nodeSelector: {addedAffinity: x}\n      containers:")
    for profiles in ("- {}\n", spreading(hard())):
        (finding,) = found(tmp_path, selecting, profiles, Severity.ERROR)
        assert (finding.rule, finding.location.span.line) == ("nodeselector-matches-nothing", 10)
        assert (finding.related, finding.cause) == ((), "addedAffinity")


def test_an_own_rule_reads_what_is_written() -> None:
    written = Rule("a", "", "spread", Severity.WARNING, ("pattern",), ("text",), {}, {}, features=("spread",))
    files = (("cluster.yaml", CLUSTER), ("scheduler.yaml", HEAD + spreading(hard())))
    cluster = cluster_from([(name, content.encode()) for name, content in files], "cluster.yaml")
    manifests = manifest_set(documents("web.yaml", WEB.encode(), is_read), "default").inventory
    scenario = Scenario(manifests, cluster)
    carriers = WorkloadsByFeature(manifests.workloads)
    assert [w.name for w in carriers.of(written, scenario)] == ["web"]
    assert not carriers.of(replace(written, code=lambda: check), scenario)


def test_daemons_that_added_affinity_bars_from_their_nodes_never_run(tmp_path: Path) -> None:
    """Each of their pods can go to one node only; the controller does not read the configuration."""
    (finding,) = found(tmp_path, DAEMONS, adding("edge"))
    assert slugs([finding]) == [("error", "nodeselector-matches-nothing")]
    assert finding.related[0].label == "the node affinity that the profile default-scheduler adds"
    assert [related.location.span.line for related in finding.related] == [10]
    assert (finding.evidence.demand, finding.evidence.supply) == (3, 1)
    choosy = DAEMONS.replace("containers:", "nodeSelector: {pool: edge}\n      containers:")
    assert found(tmp_path, choosy, adding("edge")) == []
    both = adding("edge") + without("NodeAffinity").replace("- plugins", "  plugins")
    assert found(tmp_path, DAEMONS, both) == []


def test_simulate_blames_the_line_that_adds_affinity(tmp_path: Path) -> None:
    files = (("cluster.yaml", CLUSTER), ("scheduler.yaml", HEAD + adding("edge")))
    cluster = cluster_from([(name, content.encode()) for name, content in files], "cluster.yaml")
    manifests = manifest_set(documents("web.yaml", DAEMONS.encode(), is_read), "default")
    result = simulate(manifests, cluster, Options(), events=("deploy",))
    ((cell,),) = (row.cells for row in result.rows)
    place = result.place(cell)
    assert (cell.verdict, cell.proven, cell.why) == (
        "bad",
        True,
        "only 1 of the nodes for which it makes a pod let one in",
    )
    assert place is not None
    assert (place.path, place.span.line) == ("scheduler.yaml", 10)


def test_no_fix_edits_the_manifest_for_what_the_configuration_adds(tmp_path: Path) -> None:
    """The same constraint in a manifest has one."""
    written = f"topologySpreadConstraints:\n      - {{{hard()}, labelSelector: {{matchLabels: {{app: web}}}}}}"
    by_hand = WEB.replace("containers:", f"{written}\n      containers:")
    for text, profiles, fixes in ((WEB, spreading(hard()), 0), (by_hand, "- {}\n", 1)):
        report = report_of(tmp_path, text, profiles, select=("spread-tainted-domain-blocks",))
        assert len(report.findings) == 1
        assert report.summary.proposes_fixes == bool(fixes)
        files = (("cluster.yaml", CLUSTER), ("scheduler.yaml", HEAD + profiles))
        cluster = cluster_from([(name, content.encode()) for name, content in files], "cluster.yaml")
        manifests = manifest_set(documents("web.yaml", text.encode(), is_read), "default")
        rules = Rulebook.shipped().select(select=("spread-tainted-domain-blocks",))
        _, (judged,) = lint(manifests, cluster, Options(), rules)
        assert len([*remedies(judged, Scenario(manifests.inventory, cluster))]) == 2 * fixes


# --- What a profile disables -----------------------------------------------------------------------------------------


def test_findings_about_a_disabled_filter_are_counted_once(tmp_path: Path) -> None:
    alone = WEB.replace("containers:", f"{ALONE}      containers:")
    assert ("error", "anti-affinity-exceeds-domains") in slugs(found(tmp_path, alone, "- {}\n"))
    report = report_of(tmp_path, f"{alone}---\n{alone.replace('web', 'api')}", without("InterPodAffinity"))
    assert not any("anti-affinity" in one.rule for one in report.findings)
    (note,) = (note for note in report.summary.notes if note.startswith("not reported"))
    assert note.startswith("not reported: 2 findings about InterPodAffinity, which the profile default-scheduler")
    assert note.endswith("scheduler.yaml:4)")


def test_a_disabled_filter_silences_what_nodes_do_about_a_term(tmp_path: Path) -> None:
    partly = ALONE.replace("kubernetes.io/hostname", ZONE)
    text = WEB.replace("containers:", f"{partly}      containers:").replace("replicas: 6", "replicas: 2")
    select = ("topology-key-partially-labelled",)
    before = report_of(tmp_path, text, "- {}\n", select=select)
    assert [one.rule for one in before.findings] == list(select)
    assert report_of(tmp_path, text, without("InterPodAffinity"), select=select).findings == ()
    other = report_of(tmp_path, text, without("PodTopologySpread"), select=select)
    assert [one.message for one in other.findings] == [one.message for one in before.findings]


def test_a_scheduler_that_may_fail_is_noted(tmp_path: Path) -> None:
    report = report_of(tmp_path, WEB, "- plugins: {preScore: {disabled: [{name: PodTopologySpread}]}}\n")
    (note,) = (note for note in report.summary.notes if note.startswith("unknown whether"))
    assert "default-scheduler binds pods: PodTopologySpread runs at score and not at preScore, and may fail" in note
    failing = found(tmp_path, WEB, "- plugins: {preFilter: {disabled: [{name: PodTopologySpread}]}}\n")
    assert slugs(failing) == [("error", "pods-stay-pending")]  # a filter without its state fails on every node


def test_a_disabled_filter_silences_its_default_constraints(tmp_path: Path) -> None:
    spread = spreading(hard("example.com/rack")).replace(
        "- schedulerName", without("PodTopologySpread") + "  schedulerName"
    )
    report = report_of(tmp_path, WEB, spread)
    assert report.findings == ()
    assert any("PodTopologySpread" in note for note in report.summary.notes)


# --- Pods that run already, and pools --------------------------------------------------------------------------------


def test_a_pod_without_a_filter_does_not_say_how_often_equal_pods_fit(tmp_path: Path) -> None:
    """What fits is counted once for workloads that request the same, if their profiles judge alike."""
    free = WEB.replace("name: web,", "name: free,").replace("    spec:\n", "    spec:\n      schedulerName: loose\n")
    large = [text.replace("cpu: 100m", "cpu: 3") for text in (free, WEB)]
    profiles = "- schedulerName: default-scheduler\n" + without("NodeResourcesFit").replace(
        "- plugins", "- schedulerName: loose\n  plugins"
    )
    for texts in (large, large[::-1]):
        errors = found(tmp_path, "---\n".join(texts), profiles, Severity.ERROR)
        assert slugs(errors) == [("error", "resource-insufficient-free")], texts
        assert "pods of Deployment shop/web stay Pending" in errors[0].message


def test_a_copy_of_a_running_pod_has_the_profile_of_its_scheduler() -> None:
    """``why`` of a pod of the snapshot, which no manifest makes."""
    bound = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "worker-a", "containers": [{"name": "c", "image": "i"}]},
    }
    files = (("cluster.yaml", CLUSTER), ("pod.json", json.dumps(bound)), ("scheduler.yaml", HEAD + adding("edge")))
    cluster = cluster_from([(name, content.encode()) for name, content in files], "cluster.yaml")
    explained = answer(Question("pod/shop/old"), Inventory(), cluster)
    assert [node.node for node in explained.fitting] == ["edge"]
    assert any("scheduled by the profile default-scheduler (scheduler.yaml:4)" in note for note in explained.notes)


def test_a_pool_that_cannot_meet_added_affinity_is_named(tmp_path: Path) -> None:
    pools = "pools:\n- {name: general, zones: [a], shapes: [{name: m, allocatable: {cpu: '4', memory: 16Gi}}]}\n"
    (finding,) = found(tmp_path, WEB, adding("nowhere"), Severity.ERROR, cluster=CLUSTER + pools)
    assert finding.rule == "pool-cannot-provide-label"
    assert "general sets no pool=nowhere, which the scheduler default-scheduler adds" in finding.evidence.text
