"""Expressions: what is refused when a rule is loaded, what they may read, and that each declared fact is there."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.cel.each import EACH, variables
from kubesched_lint.rulebook.cel.expressions import ExpressionRule, Texts, shown_fields
from kubesched_lint.rulebook.cel.language import ExpressionError, Language
from kubesched_lint.rulebook.cel.object_facts import STRUCTS
from kubesched_lint.rulebook.cel.structs import PLAIN, View, show_of
from kubesched_lint.rulebook.cel.syntax import selects
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

ROOT = Path(__file__).parents[2]
MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {team: a}, annotations: {note: b}}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {pool: general}
      priorityClassName: high
      tolerations:
      - {key: spot, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
      - {operator: Exists}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
         labelSelector: {matchLabels: {app: web}}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [general, spot]}]}]
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 7, preference: {matchExpressions: [{key: fast, operator: Exists}]}}
        podAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 9, podAffinityTerm: {topologyKey: rack, labelSelector: {matchLabels: {app: db}}}}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: web-data}}]
      initContainers: [{name: setup, image: "a:1"}]
      containers:
      - name: web
        image: "b:2"
        resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 128Mi}}
        ports: [{containerPort: 80, hostPort: 8080}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""
CLUSTER = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [a, b], labels: {pool: general}, allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
- {name: gpu, taints: ["gpu=yes:NoSchedule"], labels: {topology.kubernetes.io/zone: c}}
"""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    manifests = manifest_set(documents("m.yaml", MANIFESTS.encode(), is_read), "default")
    assert not manifests.errors
    return Scenario(manifests.inventory, cluster_from([("c.yaml", CLUSTER.encode())], "c.yaml"))


def language(each: str = "spread_constraint", **params: str) -> Language:
    return Language(variables(EACH[each]), params)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("workload.replicsa > 1", 9, "Workload has no field `replicsa`; did you mean `replicas`?"),
        ('spread.topologyKey == "a"', 7, "SpreadConstraint has no field `topologyKey`; did you mean `topology_key`?"),
        ("workload.pod.spread.exists(s, s.hrad)", 32, "SpreadConstraint has no field `hrad`; did you mean `hard`?"),
        ("workload.pod.containers[0].zzz", 27, "Container has no field `zzz`; it has name, image,"),
        ('workload.replicas == "three"', 19, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("params.mots > 1", 7, "the card has no parameter `mots`; did you mean `most`?"),
        ("params", 1, "`params` alone is nothing"),
        ("wrkload.replicas > 1", 8, "there is no `wrkload` here; did you mean `workload`?"),
        ('toleration.key == ""', 11, "there is no `toleration` here"),
        ("spread.hard &&", 15, "no CEL: mismatched input '<EOF>'"),
        ("has(spread.min_domains)", 4, "has(….min_domains) is always true"),
        ("spread.hard ? 1 : 'a'", 13, "found no matching overload"),
    ],
)
def test_what_is_misspelt_is_refused_when_it_is_loaded(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        language(most="int").compile(text)
    assert message in raised.value.message
    assert (raised.value.line, raised.value.column) == (1, column)


def test_the_line_of_a_long_expression_is_told() -> None:
    with pytest.raises(ExpressionError) as raised:
        language().compile("spread.hard &&\n  has(workload.labels.team) &&\n  has(spread.max_skew)")
    assert (raised.value.line, raised.value.column) == (3, 6)


def test_keys_of_maps_may_be_asked_for() -> None:
    expression = language().compile('has(workload.labels.team) && "a" in workload.labels')
    assert expression.uses == {"Workload": frozenset({"labels"})}


def test_only_fields_that_are_read_are_shown(scenario: Scenario) -> None:
    workload = scenario.manifests.workloads[0]
    uses = language().compile("workload.pod.spread.exists(s, s.hard) && workload.replicas > 1").uses
    assert show_of("Workload", uses, STRUCTS)(workload, View(scenario, workload)) == {
        "replicas": 2,
        "pod": {"spread": [{"hard": True}]},
    }


@pytest.mark.parametrize("each", EACH.values(), ids=EACH)
def test_every_fact_has_the_type_that_it_declares(each: Any, scenario: Scenario) -> None:
    """Each fact is read through the whole machinery, so a wrong type would be an error of the run."""
    workload = None if each.by_set else scenario.manifests.workloads[0]
    view = View(scenario, workload)
    places = list(each.of(view))
    assert places, f"the example has no {each.name}"
    everything = {name: frozenset(field.name for field in struct.fields) for name, struct in STRUCTS.items()}
    show = show_of(each.struct, everything, STRUCTS)
    for place in places:
        _must_fit(each.struct, show(place.subject, view))


def _must_fit(struct: str, shown: dict[str, Any]) -> None:
    python = {"string": str, "int": int, "bool": bool}
    for field in STRUCTS[struct].fields:
        value = shown[field.name]
        if field.struct:
            for item in value if field.is_list else [value]:
                _must_fit(field.struct, item)
        elif field.type in python:
            assert type(value) is python[field.type], (struct, field.name)
        elif field.type == "list(string)":
            assert type(value) is list, (struct, field.name)
            assert all(type(item) is str for item in value), (struct, field.name)
        else:
            inner = int if field.type.endswith("int)") else str
            assert type(value) is dict, (struct, field.name)
            assert all(type(k) is str and type(v) is inner for k, v in value.items()), (struct, field.name)


@pytest.mark.parametrize(
    ("each", "text", "fits"),
    [
        ("workload", "workload.max_replicas == 9 && workload.autoscaled", True),
        ("workload", 'workload.budgets[0].min_available == "50%" && workload.budgets[0].max_unavailable == ""', True),
        ("workload", 'workload.usable_zones == ["a", "b"] && workload.usable_nodes == 4', True),
        ("workload", 'workload.max_unavailable == "25%" && workload.max_surge == "1"', True),
        ("workload", 'cluster.nodes == 5 && cluster.zones == ["a", "b", "c"]', True),
        ("workload", 'workload.labels.get("team", "") == "a" && workload.labels.get("tier", "x") == "x"', True),
        ("workload", 'workload.namespace_labels["kubernetes.io/metadata.name"] == "shop"', True),
        ("pod", 'pod.requests.get("cpu", 0) == 250 && pod.requests["memory"] == 67108864', True),
        ("pod", "pod.node_affinity.map(t, t.weight) == [0, 7]", True),
        ("pod", 'pod.containers.map(c, c.name) == ["setup", "web"] && pod.containers[0].init', True),
        ("affinity_term", 'term.weight == 9 && !term.required && term.selector[0].values == ["db"]', True),
        ("anti_affinity_term", "term.selects_itself && size(term.domains) == 4", True),
        ("spread_constraint", "spread.min_domains == 1 && spread.selects_itself && spread.hard", True),
        ("toleration", 'toleration.key == "spot" ? toleration.seconds == 60 : toleration.seconds == -1', True),
        ("container", 'container.limits.get("memory", 0) == (container.init ? 0 : 134217728)', True),
        ("host_port", 'port.port == 8080 && port.protocol == "TCP"', True),
        ("volume", 'volume.claim == "web-data"', True),
        ("disruption_budget", 'budget.workloads == ["Deployment shop/web"]', True),
        ("autoscaler", 'autoscaler.target_name == "web" && autoscaler.max_replicas == 9', True),
        ("node", 'node.name == "gpu" || node.allocatable["cpu"] == 4000', True),
        ("node", 'node.taints.exists(t, t.key == "gpu")', False),
    ],
)
def test_facts_tell_what_the_objects_say(each: str, text: str, fits: bool, scenario: Scenario) -> None:
    check = ExpressionRule(Texts(each, text))()
    hazards = list(check(scenario) if EACH[each].by_set else check(scenario.member(scenario.manifests.workloads[0])))
    assert (not hazards) is fits


def test_a_key_that_is_not_there_says_what_to_do(scenario: Scenario) -> None:
    check = ExpressionRule(Texts("workload", 'workload.labels["tier"] == "a"'))()
    with pytest.raises(
        Exception, match=r'there is no "tier" in the map; ask "tier" in … first, or use .get\("tier", …\)'
    ):
        list(check(scenario.member(scenario.manifests.workloads[0])))


def test_a_rule_travels_as_its_texts() -> None:
    rule = ExpressionRule(Texts("workload", "workload.replicas > 1"))
    rule.compile()
    assert pickle.loads(pickle.dumps(rule))._texts == rule._texts


def test_no_expression_runs_for_long(scenario: Scenario) -> None:
    tens = str(list(range(10)))
    deep = "true"
    for depth in range(7):
        deep = f"{tens}.all(x{depth}, {deep})"
    check = ExpressionRule(Texts("workload", deep))()
    with pytest.raises(Exception, match="its loops take more than 10,000 turns"):
        list(check(scenario.member(scenario.manifests.workloads[0])))


@pytest.mark.parametrize("struct", STRUCTS.values(), ids=STRUCTS)
def test_every_example_of_the_page_is_sound(struct: Any) -> None:
    for each in EACH.values():
        try:
            expression = Language(variables(each), {}).compile(struct.example)
        except ExpressionError:
            continue
        assert expression.type == "bool"
        assert struct.name in expression.uses
        return
    pytest.fail(f"no rule could say {struct.example}")


def test_messages_may_show_every_plain_fact_of_a_thing() -> None:
    for each in EACH.values():
        known = Language(variables(each), {})
        for text in shown_fields(each.name).values():
            assert known.compile(text).type in PLAIN


def test_other_bytes_are_no_expression() -> None:
    for junk in (b"\xff", b"\x0a\xff", b"\x0b"):
        with pytest.raises(ValueError, match="no protocol buffer"):
            list(selects(junk))
