"""The facts of workloads and their pods, one line each.

A pod's facts are those of the manifest with the API server's defaults. What admission adds (tolerations, labels of a
revision) is left out, because the manifest does not contain it. The meaning of a published name never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.node import ZONE
from kubesched_lint.engine.model.pod import Container, PodAffinityTerm
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.explaining.disruption import budgets_of
from kubesched_lint.rulebook.cel.structs import AMOUNTS, BOOL, INT, LABELS, STRING, STRINGS, CelType, Field, View


class Term(NamedTuple):
    """A pod affinity or anti-affinity term; ``weight`` is 0 if it is required."""

    term: PodAffinityTerm
    weight: int = 0


class NodeTerm(NamedTuple):
    expressions: tuple[Any, ...]
    weight: int = 0


class ContainerOfPod(NamedTuple):
    container: Container
    init: bool


def affinity_terms(workload: Workload) -> Iterator[Term]:
    yield from map(Term, workload.pod.required_affinity)
    yield from (Term(w.term, w.weight) for w in workload.pod.preferred_affinity)


def anti_affinity_terms(workload: Workload) -> Iterator[Term]:
    yield from map(Term, workload.pod.required_anti_affinity)
    yield from (Term(w.term, w.weight) for w in workload.pod.preferred_anti_affinity)


def containers(workload: Workload) -> Iterator[ContainerOfPod]:
    yield from (ContainerOfPod(c, True) for c in workload.pod.init_containers)
    yield from (ContainerOfPod(c, False) for c in workload.pod.containers)


def _node_terms(workload: Workload) -> Iterator[NodeTerm]:
    for term in workload.pod.required_node_terms or ():
        yield NodeTerm((*term.expressions, *term.fields))
    for preferred in workload.pod.preferred_node_terms:
        yield NodeTerm((*preferred.term.expressions, *preferred.term.fields), preferred.weight)


def _asked(view: View) -> Workload:
    assert view.workload is not None, "only things of a workload have this fact"
    return view.workload


def requirements(selector: Selector | None) -> Iterable[Any]:
    return () if selector is None else selector.requirements


def _is_selected(selector: Selector | None, view: View) -> bool:
    return selector is not None and selector.matches(_asked(view).pod.labels)


def _namespace_labels(namespace: str, view: View) -> Mapping[str, str]:
    known = view.scenario.namespaces.labels.get(namespace, {})
    return {"kubernetes.io/metadata.name": namespace, **known}


def _usable_zones(workload: Workload, view: View) -> Iterable[str]:
    return sorted(domain_room(view.scenario.member(workload), ZONE).domains)


def _domains(key: str, view: View) -> Iterable[str]:
    return sorted(domain_room(view.scenario.member(_asked(view)), key).domains)


def _policy(honors: bool) -> str:
    return "Honor" if honors else "Ignore"


def _made_by(workload: Workload, view: View) -> str:
    return "" if workload.custom is None else workload.custom.ref.kind


def _budgets(workload: Workload, view: View) -> Iterable[Any]:
    return budgets_of(view.scenario.member(workload))


def _most_replicas(workload: Workload, view: View) -> int:
    scaler = view.scenario.member(workload).autoscaler
    now = view.scenario.member(workload).replicas
    return now if scaler is None else max(now, scaler.max_replicas)


def bound_text(value: int | str | None) -> str:
    return "" if value is None else str(value)


WORKLOAD_STRUCTS = (
    CelType(
        "Workload",
        "A Deployment, DaemonSet, StatefulSet, ReplicaSet, Job, CronJob or bare Pod.",
        'workload.kind == "Deployment" && workload.labels.get("tier", "") == "production"',
        (
            Field("kind", STRING, "`Deployment`, …", lambda w, _: w.kind),
            Field("made_by", STRING, "the kind of a custom resource, `Rollout`, …, or empty", _made_by),
            Field("namespace", STRING, "where it lives", lambda w, _: w.namespace),
            Field("name", STRING, "its name", lambda w, _: w.name),
            Field(
                "labels", LABELS, "labels of the object itself (those of its pods: `pod.labels`)", lambda w, _: w.labels
            ),
            Field("annotations", LABELS, "annotations of the object itself", lambda w, _: w.annotations),
            Field(
                "namespace_labels",
                LABELS,
                "labels of its namespace, as far as the manifests or the snapshot show them",
                lambda w, v: _namespace_labels(w.namespace, v),
                needs="set",
            ),
            Field(
                "replicas",
                INT,
                "pods at the start: as written, else as running, within its autoscaler's bounds; 0 for a DaemonSet",
                lambda w, v: v.scenario.member(w).replicas,
            ),
            Field(
                "max_replicas",
                INT,
                "most pods it may have: its autoscaler's maximum, else `replicas`",
                _most_replicas,
                needs="set",
            ),
            Field(
                "autoscaled",
                BOOL,
                "whether a HorizontalPodAutoscaler sets its replicas",
                lambda w, v: v.scenario.member(w).autoscaler is not None,
                needs="set",
            ),
            Field("strategy", STRING, "`RollingUpdate`, `Recreate` or `OnDelete`", lambda w, _: w.strategy.type),
            Field(
                "max_surge",
                STRING,
                "of its rolling update as written, `1` or `25%`; empty if not set",
                lambda w, _: bound_text(w.strategy.max_surge),
            ),
            Field("max_unavailable", STRING, "likewise", lambda w, _: bound_text(w.strategy.max_unavailable)),
            Field("pod", "Pod", "the pods it makes", lambda w, _: w),
            Field(
                "budgets", "list(DisruptionBudget)", "PodDisruptionBudgets that select its pods", _budgets, needs="set"
            ),
            Field(
                "usable_nodes",
                INT,
                "nodes that its pods can ever use, whatever other pods do",
                lambda w, v: v.scenario.member(w).usable.bit_count(),
                needs="nodes",
            ),
            Field("usable_zones", STRINGS, "the zones of these nodes", _usable_zones, needs="nodes"),
            Field(
                "running_pods",
                INT,
                "its pods in the snapshot",
                lambda w, v: len(v.scenario.member(w).running_pods),
                needs="pods",
            ),
        ),
    ),
    CelType(
        "Pod",
        "The scheduling fields of a workload's pods.",
        'pod.requests.get("nvidia.com/gpu", 0) > 0 && pod.priority_class != ""',
        (
            Field("labels", LABELS, "labels of the template", lambda w, _: w.pod.labels),
            Field("node_name", STRING, "`spec.nodeName`; empty if absent", lambda w, _: w.pod.node_name),
            Field("node_selector", LABELS, "`spec.nodeSelector`", lambda w, _: w.pod.node_selector),
            Field(
                "node_affinity",
                "list(NodeTerm)",
                "terms of node affinity, required and preferred",
                lambda w, _: _node_terms(w),
            ),
            Field(
                "affinity",
                "list(AffinityTerm)",
                "terms of pod affinity, required and preferred",
                lambda w, _: affinity_terms(w),
            ),
            Field(
                "anti_affinity",
                "list(AffinityTerm)",
                "terms of pod anti-affinity, required and preferred",
                lambda w, _: anti_affinity_terms(w),
            ),
            Field("spread", "list(SpreadConstraint)", "`topologySpreadConstraints`", lambda w, _: w.pod.spread),
            Field("tolerations", "list(Toleration)", "tolerations as written", lambda w, _: w.pod.tolerations),
            Field("containers", "list(Container)", "containers, init containers first", lambda w, _: containers(w)),
            Field(
                "requests",
                AMOUNTS,
                "total requests of one pod: `cpu` in millicores, other resources in bytes or pieces",
                lambda w, _: w.pod.requests,
            ),
            Field("host_ports", "list(HostPort)", "ports taken on the node", lambda w, _: w.pod.host_ports),
            Field("host_network", BOOL, "`spec.hostNetwork`", lambda w, _: w.pod.host_network),
            Field("volumes", "list(Volume)", "volumes that scheduling looks at", lambda w, _: w.pod.volumes),
            Field("scheduling_gates", STRINGS, "names of scheduling gates", lambda w, _: w.pod.scheduling_gates),
            Field("scheduler_name", STRING, "`default-scheduler` if absent", lambda w, _: w.pod.scheduler_name),
            Field(
                "priority_class",
                STRING,
                "`priorityClassName`; empty if absent",
                lambda w, _: w.pod.priority_class,
            ),
            Field(
                "priority",
                INT,
                "its number; the default class's if absent; else 0",
                lambda w, v: v.scenario.member(w).pod.priority or 0,
                needs="set",
            ),
            Field(
                "runtime_class",
                STRING,
                "`runtimeClassName`; empty if absent",
                lambda w, _: w.pod.runtime_class,
            ),
        ),
    ),
    CelType(
        "AffinityTerm",
        "A term of pod affinity or anti-affinity.",
        'term.required && term.topology_key == "kubernetes.io/hostname"',
        (
            Field("topology_key", STRING, "`topologyKey`", lambda t, _: t.term.topology_key),
            Field("required", BOOL, "required while scheduling, else preferred", lambda t, _: not t.weight),
            Field("weight", INT, "1 to 100 for a preferred term, 0 for a required one", lambda t, _: t.weight),
            Field(
                "selector",
                "list(Requirement)",
                "the conditions of `labelSelector`",
                lambda t, _: requirements(t.term.selector),
            ),
            Field("namespaces", STRINGS, "`namespaces`; empty means the pod's own", lambda t, _: t.term.namespaces),
            Field("match_label_keys", STRINGS, "`matchLabelKeys`", lambda t, _: t.term.match_label_keys),
            Field(
                "selects_itself",
                BOOL,
                "whether it selects pods of its own workload",
                lambda t, v: v.scenario.member(_asked(v)).repels_itself(t.term),
                needs="set",
            ),
            Field(
                "domains",
                STRINGS,
                "values of the key on the nodes that the pod can ever use",
                lambda t, v: _domains(t.term.topology_key, v),
                needs="nodes",
            ),
        ),
    ),
    CelType(
        "SpreadConstraint",
        "One of `topologySpreadConstraints`.",
        "spread.hard && spread.min_domains >= 3",
        (
            Field("topology_key", STRING, "`topologyKey`", lambda s, _: s.topology_key),
            Field("max_skew", INT, "`maxSkew`", lambda s, _: s.max_skew),
            Field("hard", BOOL, "`whenUnsatisfiable: DoNotSchedule`", lambda s, _: s.is_hard),
            Field("min_domains", INT, "`minDomains`; 1 if absent", lambda s, _: s.min_domains or 1),
            Field(
                "selector",
                "list(Requirement)",
                "the conditions of `labelSelector`",
                lambda s, _: requirements(s.selector),
            ),
            Field(
                "selects_itself",
                BOOL,
                "whether it counts pods of its own workload",
                lambda s, v: _is_selected(s.selector, v),
            ),
            Field("match_label_keys", STRINGS, "`matchLabelKeys`", lambda s, _: s.match_label_keys),
            Field("node_affinity_policy", STRING, "`Honor` or `Ignore`", lambda s, _: _policy(s.honors_affinity)),
            Field("node_taints_policy", STRING, "`Honor` or `Ignore`", lambda s, _: _policy(s.honors_taints)),
            Field(
                "domains",
                STRINGS,
                "values of the key on the nodes that the pod can ever use",
                lambda s, v: _domains(s.topology_key, v),
                needs="nodes",
            ),
        ),
    ),
    CelType(
        "Toleration",
        "A toleration of a pod.",
        'toleration.key == "" && toleration.seconds == -1',
        (
            Field("key", STRING, "empty: every taint", lambda t, _: t.key),
            Field("operator", STRING, "`Equal`, `Exists`, `Gt` or `Lt`", lambda t, _: t.operator),
            Field("value", STRING, "empty if not set", lambda t, _: t.value),
            Field("effect", STRING, "empty: every effect", lambda t, _: t.effect),
            Field(
                "seconds", INT, "`tolerationSeconds`; -1: forever", lambda t, _: -1 if t.seconds is None else t.seconds
            ),
        ),
    ),
    CelType(
        "NodeTerm",
        "A term of node affinity: all that it requires must hold.",
        'pod.node_affinity.exists(term, term.required && term.requirements.exists(r, r.key == "pool"))',
        (
            Field(
                "requirements",
                "list(Requirement)",
                "conditions on labels and on `metadata.name`",
                lambda t, _: t.expressions,
            ),
            Field("required", BOOL, "required while scheduling, else preferred", lambda t, _: not t.weight),
            Field("weight", INT, "1 to 100 for a preferred term, 0 for a required one", lambda t, _: t.weight),
        ),
    ),
    CelType(
        "Requirement",
        "One condition on a label.",
        'spread.selector.exists(r, r.operator == "In" && "web" in r.values)',
        (
            Field("key", STRING, "the label", lambda r, _: r.key),
            Field("operator", STRING, "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`", lambda r, _: r.operator),
            Field("values", STRINGS, "what it is compared with", lambda r, _: r.values),
        ),
    ),
    CelType(
        "Container",
        "A container or init container.",
        '!container.init && container.requests.get("cpu", 0) > 2000',
        (
            Field("name", STRING, "its name", lambda h, _: h.container.name),
            Field("image", STRING, "its image as written", lambda h, _: h.container.image),
            Field("init", BOOL, "whether it is an init container", lambda h, _: h.init),
            Field(
                "sidecar",
                BOOL,
                "an init container with `restartPolicy: Always`",
                lambda h, _: h.container.restart_always,
            ),
            Field(
                "requests",
                AMOUNTS,
                "`cpu` in millicores, other resources in bytes or pieces",
                lambda h, _: h.container.requests,
            ),
            Field("limits", AMOUNTS, "likewise", lambda h, _: h.container.limits),
        ),
    ),
    CelType(
        "HostPort",
        "A port that a pod takes on its node.",
        'port.port < 1024 && port.protocol == "TCP"',
        (
            Field("port", INT, "`hostPort`", lambda p, _: p.port),
            Field("protocol", STRING, "`TCP`, `UDP` or `SCTP`", lambda p, _: p.protocol),
            Field("host_ip", STRING, "`0.0.0.0` if absent", lambda p, _: p.host_ip),
        ),
    ),
    CelType(
        "Volume",
        "A volume that scheduling looks at.",
        'volume.kind == "persistentVolumeClaim" && volume.claim.endsWith("-data")',
        (
            Field("name", STRING, "its name", lambda x, _: x.name),
            Field("kind", STRING, "`persistentVolumeClaim`, `ephemeral`, `csi`, …", lambda x, _: x.kind),
            Field("claim", STRING, "name of its claim; empty if it has none", lambda x, _: x.claim),
        ),
    ),
)
