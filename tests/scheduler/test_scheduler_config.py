"""``--scheduler-config``: kube-scheduler's own refusals, and verdicts that follow the configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubesched_lint import load_cluster
from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.states.symmetry import Symmetry
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, PreferredNodeTerm, SchedulerProfile
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import read_cluster, stated
from kubesched_lint.sources.scheduler_config.file import read_scheduler_config

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b], allocatable: {cpu: "4", memory: 16Gi}}
- {name: batch, count: 1, zones: [a, b], taints: [team=batch:NoSchedule], allocatable: {cpu: "4", memory: 16Gi}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      SPEC
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0", resources: {requests: {cpu: 100m, memory: 64Mi}}}
"""
ALONE = """affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}"""


# --- What kube-scheduler refuses, in its words -----------------------------------------------------------------------

SHAPE = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 11}]}}]}]"
FIT = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ARGS}}]}]"
SPREAD = (
    "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [ONE]}}]}]"
)
CONSTRAINT = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
ADDED = """\
profiles:
- pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [ONE]}]}
"""
AT_ADDED = (
    "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ".nodeSelectorTerms[0].matchExpressions[0]"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profiles: [{plugin: {}}]", 'unknown field "profiles[0].plugin"'),
        ("profiles: [{}, {}]", "profiles[0].schedulerName: Required value"),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: {}",
        ),
        ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        (
            FIT.replace("ARGS", "scoringStrategy: {type: Least}"),
            'scoringStrategy.type: Unsupported value: "Least": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
        (
            FIT.replace("ARGS", "scoringStrategy: {type: RequestedToCapacityRatio}"),
            "scoringStrategy.requestedToCapacityRatio: Required value: "
            "must be specified when type is RequestedToCapacityRatio",
        ),
        (
            FIT.replace("ARGS", "ignoredResourceGroups: [example.com/x]"),
            "ignoredResourceGroups[0]: Invalid value: \"example.com/x\": resource group name can't contain '/'",
        ),
        (
            FIT.replace("ARGS", "ignoredResource: [example.com/x]"),
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: "
            'unknown field "ignoredResource"',
        ),
        (
            SPREAD.replace("ONE", f"{CONSTRAINT}, {CONSTRAINT}"),
            'profiles[0].pluginConfig[0].args.defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"',
        ),
        (
            SPREAD.replace("ONE", CONSTRAINT).replace("defaultingType: List, ", ""),
            'profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": '
            "when .defaultConstraints are not empty",
        ),
        (
            SPREAD.replace("ONE", CONSTRAINT.replace("}", ", labelSelector: {}}")),
            "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: "
            "constraint must not define a selector, as they deduced for each pod",
        ),
        (
            ADDED.replace("ONE", "{key: pool, operator: In}"),
            f"{AT_ADDED}.values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            ADDED.replace("ONE", "{key: pool, operator: Is}"),
            f'{AT_ADDED}.operator: Unsupported value: "Is": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (
            "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "extenders: [{urlPrefix: http://a, prioritizeVerb: p}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]",
            'plugin "ImageLocality" does not extend FilterPlugin plugin',
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]",
            'plugin "NodePorts" already registered as "FilterPlugin"',
        ),
        (
            "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]",
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
        ),
        (
            "profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]",
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
            'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version '
            '"kubescheduler.config.k8s.io/v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
        ),
        (
            "profiles: [{plugins: {multiPoint: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]",
            'plugin "NodePorts" already registered as "PreFilterPlugin"',
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Own}]}}}]",
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Own","Weight":0}],"Disabled":null}: '
            "must be the same for all profiles",
        ),
        ("profiles: [{plugins: {score: {enabled: [{weight: 3}]}}}]", 'ScorePlugin "" does not exist'),
        (
            FIT.replace("ARGS", "apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs"),
            "decoding .profiles[0].pluginConfig[0]: args for plugin NodeResourcesFit were not of type "
            "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io",
        ),
        (
            FIT.replace("ARGS", "apiVersion: kubescheduler.config.k8s.io/v1beta3"),
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: "
            'no kind "NodeResourcesFitArgs" is registered for version "kubescheduler.config.k8s.io/v1beta3"',
        ),
        (
            "leaderElection: {resourceLock: endpoints}",
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
        ("clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"),
        (
            SHAPE,
            'profiles[0].pluginConfig[0].args.shape: Invalid value: [{"Utilization":0,"Score":11}]: '
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ),
    ],
)
def test_a_wrong_file_is_refused_in_the_words_of_kube_scheduler(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + text)
    with pytest.raises(ClusterError) as refused:
        read_scheduler_config(str(file))
    assert refused.value.message == said
    assert refused.value.line > 2


@pytest.mark.parametrize(
    ("version", "gates", "cluster_version", "allowed"),
    [
        ("1.37", "", "", True),
        ("", "", "v1.37.1", True),
        ("", "", "v1.36.2", False),
        ("1.36", "StorageCapacityScoring=true", "v1.36.2", True),
        ("1.37", "StorageCapacityScoring=false", "v1.37.0", False),
    ],
)
def test_the_shape_of_volume_binding_needs_its_gate(
    tmp_path: Path, version: str, gates: str, cluster_version: str, allowed: bool
) -> None:
    """It is on since 1.37; an allowed shape is validated."""
    file = tmp_path / "scheduler.yaml"
    said = ClusterOptions(scheduler_config=str(file), kubernetes_version=version, feature_gates=gates)
    cluster = Cluster(Inventory(), version=cluster_version)
    for score, refusal in ((10, ""), (11, "args.shape[0].score: Invalid value: 11: not in valid range [0, 10]")):
        file.write_text(HEAD + SHAPE.replace("11", str(score)))
        if allowed and not refusal:
            assert stated(cluster, said).inventory.schedulers
        else:
            with pytest.raises(ClusterError, match=re.escape(refusal) if allowed else "unexpected field `shape`"):
                stated(cluster, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: expected a KubeSchedulerConfiguration"),
        ("apiVersion: v1\nkind: Node\n", "holds Node: expected one KubeSchedulerConfiguration"),
        (f"{HEAD}---\n{HEAD}", "holds a second KubeSchedulerConfiguration: expected one KubeSchedulerConfiguration"),
        (HEAD.replace("/v1", "/v1beta3"), "only kubescheduler.config.k8s.io/v1 is read"),
        (f"{HEAD}profiles: [", None),
    ],
)
def test_another_file_is_one_clear_error(tmp_path: Path, text: str, said: str | None) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(text)
    with pytest.raises(ClusterError) as refused:
        read_scheduler_config(str(file))
    assert said is None or refused.value.message == said


# --- Verdicts follow the configuration -------------------------------------------------------------------------------


def lint(
    tmp_path: Path, configuration: str | None, spec: str = "", *, select: tuple[str, ...] = (), replicas: int = 3
) -> list[Finding]:
    text = WEB.replace("SPEC", spec).replace("replicas: 3", f"replicas: {replicas}")
    return [one for one in lint_of(tmp_path, text, configuration, select) if one.severity > Severity.NOTE]


def lint_of(tmp_path: Path, text: str, configuration: str | None, select: tuple[str, ...] = ()) -> list[Finding]:
    web, cluster, scheduler = (tmp_path / name for name in ("web.yaml", "cluster.yaml", "scheduler.yaml"))
    web.write_text(text)
    cluster.write_text(CLUSTER)
    scheduler.write_text(HEAD + (configuration or ""))
    stated = ClusterOptions(scheduler_config=str(scheduler) if configuration is not None else "")
    request = Request((str(web),), str(cluster), cluster_options=stated)
    report = check(request, Options(select=select), Rulebook.shipped())
    assert report.errors == ()
    return list(report.findings)


def rules(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(finding.severity.word, finding.rule) for finding in findings}


@pytest.mark.parametrize("profiles", ["null", "[null]", "[{pluginConfig: [{name: NodeResourcesFit, args: null}]}]"])
def test_what_is_null_is_the_default(tmp_path: Path, profiles: str) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(f"{HEAD}profiles: {profiles}")
    (found,) = read_scheduler_config(str(file))
    assert same_values(found, SchedulerProfile(origin=found.origin))


def test_a_null_in_a_list_of_values_is_their_zero(tmp_path: Path) -> None:
    """Go decodes it as an empty string, and ValidatePodTopologySpreadArgs does not look at these keys."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + SPREAD.replace("ONE", CONSTRAINT[:-1] + ", matchLabelKeys: [null]}"))
    (found,) = read_scheduler_config(str(file))
    assert found.default_spread is not None
    assert found.default_spread[0].match_label_keys == ("",)


def test_what_starts_kube_scheduler_is_read_as_it_decodes_it(tmp_path: Path) -> None:
    """The keys are those of the decoded value: an integer with a point, null for nothing, a null element for empty."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(
        f"{HEAD}percentageOfNodesToScore: 50.0\nextenders: [null]\n"
        "profiles: [{percentageOfNodesToScore: null, plugins: {score: {enabled: [{name: Mine, weight: null}]}, "
        "filter: {disabled: [null]}}, pluginConfig: [{name: Mine, args: null}]}]"
    )
    (found,) = read_scheduler_config(str(file))
    assert found.percentage_of_nodes_to_score == 50
    assert found.unmodelled == ("the extender", "the plugin Mine")


def test_the_extension_point_of_1_37_is_known(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(f"{HEAD}profiles: [{{plugins: {{podGroupPostFilter: {{enabled: []}}}}}}]")
    (found,) = read_scheduler_config(str(file))
    assert same_values(found, SchedulerProfile(origin=found.origin))


def test_a_configuration_of_defaults_changes_nothing(tmp_path: Path) -> None:
    for spec in ("", ALONE):
        assert rules(lint(tmp_path, "profiles: []", spec)) == rules(lint(tmp_path, None, spec))


def test_default_constraints_leave_pods_pending(tmp_path: Path) -> None:
    """Every node has the label of a zone but none the label `rack`, and the list demands it."""
    constraint = CONSTRAINT.replace("zone", "example.com/rack")
    assert rules(lint(tmp_path, None)) == set()
    assert rules(lint(tmp_path, SPREAD.replace("ONE", constraint))) == {("error", "topology-key-missing-on-nodes")}
    soft = constraint.replace("DoNotSchedule", "ScheduleAnyway")
    assert rules(lint(tmp_path, SPREAD.replace("ONE", soft))) == set()


def test_added_affinity_may_leave_no_node(tmp_path: Path) -> None:
    found = lint(tmp_path, ADDED.replace("ONE", "{key: pool, operator: In, values: [nowhere]}"))
    assert rules(found) == {("error", "nodeselector-matches-nothing")}
    assert found[0].message.endswith("matches pool=nowhere, which the scheduler default-scheduler adds")


def test_a_selector_and_the_added_affinity_that_share_no_node_are_one_error(tmp_path: Path) -> None:
    """Nodes of each zone exist; the message must not say that no node has the label."""
    added = ADDED.replace("ONE", "{key: topology.kubernetes.io/zone, operator: In, values: [a]}")
    spec = "nodeSelector: {topology.kubernetes.io/zone: b}"
    assert rules(lint(tmp_path, None, spec)) == set()
    (found,) = (one for one in lint(tmp_path, added, spec) if one.severity is Severity.ERROR)
    assert found.rule == "nodeselector-matches-nothing"
    wanted = "topology.kubernetes.io/zone=b and the node affinity that the scheduler default-scheduler adds"
    assert found.message.endswith(f"none of the 4 nodes matches {wanted}")


def test_a_daemonset_makes_pods_although_the_added_affinity_keeps_them_waiting(tmp_path: Path) -> None:
    """Its controller does not read the scheduler's configuration."""
    added = ADDED.replace("ONE", "{key: pool, operator: In, values: [nowhere]}")
    daemons = WEB.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 3\n", "")
    none = daemons.replace("SPEC", "nodeSelector: {pool: nowhere}")
    found = [lint_of(tmp_path, text, added) for text in (daemons.replace("SPEC", ""), none)]
    slugs = [{finding.rule for finding in each} for each in found]
    assert slugs == [{"nodeselector-matches-nothing"}, {"daemonset-matches-no-node"}]
    assert found[0][0].message.startswith("2 pods of DaemonSet shop/web stay Pending")


def test_nodes_that_the_added_affinity_tells_apart_are_not_alike() -> None:
    index = NodeIndex([Node(f"n{i}", {"pool": pool}) for i, pool in enumerate("aab")])
    term = NodeSelectorTerm((Requirement("pool", "In", ("a",)),))
    first = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n0",)),))
    profiles = [
        SchedulerProfile(),
        SchedulerProfile(added_node_terms=(term,)),
        SchedulerProfile(added_preferred_node_terms=(PreferredNodeTerm(1, term),)),
        SchedulerProfile(added_node_terms=(first,)),
    ]
    looks = [Symmetry(index, [Pod("default", {}, profile=one)], [0, 0, 0]).look for one in profiles]
    assert [len(set(look)) for look in looks] == [1, 2, 2, 3]


def test_a_disabled_filter_proves_nothing(tmp_path: Path) -> None:
    assert ("error", "anti-affinity-exceeds-domains") in rules(lint(tmp_path, None, ALONE))
    without = "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}}]"
    assert rules(lint(tmp_path, without, ALONE)) == set()
    assert ("error", "rollout-surge-deadlock") in rules(lint(tmp_path, None, ALONE, replicas=2))
    assert rules(lint(tmp_path, without, ALONE, replicas=2)) == set()


def test_a_resource_that_the_filter_ignores_is_not_missed(tmp_path: Path) -> None:
    spec = "overhead: {example.com/gpu: 1}"
    missed = {("error", "extended-resource-missing")}
    select = ("extended-resource-missing",)
    assert rules(lint(tmp_path, None, spec, select=select)) == missed
    assert (
        rules(lint(tmp_path, FIT.replace("ARGS", "ignoredResources: [example.com/foo]"), spec, select=select)) == missed
    )
    for args in ("ignoredResources: [example.com/gpu]", "ignoredResourceGroups: [example.com]"):
        assert rules(lint(tmp_path, FIT.replace("ARGS", args), spec, select=select)) == set()


def test_a_disabled_taint_toleration_opens_tainted_nodes(tmp_path: Path) -> None:
    without = "profiles: [{plugins: {filter: {disabled: [{name: TaintToleration}]}}}]"
    assert ("error", "anti-affinity-exceeds-domains") in rules(lint(tmp_path, None, ALONE, replicas=4))
    assert rules(lint(tmp_path, without, ALONE, replicas=4)) == set()


def test_a_plugin_of_ones_own_makes_an_error_a_warning_that_names_it(tmp_path: Path) -> None:
    own = "profiles: [{plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]"
    found = lint(tmp_path, own, ALONE, select=("anti-affinity-exceeds-domains",))
    assert rules(found) == {("warning", "anti-affinity-exceeds-domains")}
    assumed = "the plugin Coscheduling of default-scheduler keeps no pod from a node, and evicts none"
    assert assumed in found[0].evidence.assumes


@pytest.mark.parametrize(
    ("configuration", "word"),
    [
        (None, "warning"),
        ("profiles: [{schedulerName: packer}]", "error"),
        ("profiles: [{schedulerName: other}]", "warning"),
    ],
)
def test_a_named_scheduler_is_known_by_its_profile(tmp_path: Path, configuration: str | None, word: str) -> None:
    spec = f"schedulerName: packer\n      {ALONE}"
    found = lint(tmp_path, configuration, spec, select=("anti-affinity-exceeds-domains",))
    assert rules(found) == {(word, "anti-affinity-exceeds-domains")}


def test_a_scheduler_that_no_profile_names_is_unknown_even_the_default_one(tmp_path: Path) -> None:
    found = lint(tmp_path, "profiles: [{schedulerName: packer}]", ALONE, select=("anti-affinity-exceeds-domains",))
    assert rules(found) == {("warning", "anti-affinity-exceeds-domains")}


DEFAULT = "{schedulerName: default-scheduler}"


@pytest.mark.parametrize(
    ("schedulers", "configuration", "word"),
    [
        (("default-scheduler",) * 2, None, "error"),
        (("packer", "default-scheduler"), None, "warning"),
        (("default-scheduler", "packer"), f"profiles: [{DEFAULT}, {{schedulerName: packer}}]", "error"),
        (("default-scheduler", "packer"), f"profiles: [{DEFAULT}]", "warning"),
        (("default-scheduler", "default-scheduler", "packer"), None, "error"),
    ],
)
def test_a_set_is_judged_by_the_schedulers_of_all_its_pods(
    tmp_path: Path, schedulers: tuple[str, ...], configuration: str | None, word: str
) -> None:
    """Each of two nodes has room for one pod. What kube-scheduler alone cannot place is an error."""
    texts = (
        WEB.replace("web", f"web{n}").replace("SPEC", f"schedulerName: {name}").replace("cpu: 100m", "cpu: 3")
        for n, name in enumerate(schedulers)
    )
    text = "---\n".join(texts).replace("replicas: 3", "replicas: 2")
    (found,) = lint_of(tmp_path, text, configuration, ("set-does-not-fit",))
    assert found.severity.word == word
    assert ("packer decides as kube-scheduler does" in found.evidence.assumes) == (word == "warning")


def test_the_cluster_file_may_hold_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{CLUSTER}---\n{HEAD}profiles: [{{schedulerName: packer}}]\n")
    cluster = read_cluster(str(file))
    assert [(one.name, one.origin) for one in cluster.inventory.schedulers] == [("packer", f"{file}:9")]
    assert f"scheduled as {file} configures" in cluster.description.what


def test_the_cluster_folder_may_hold_one_configuration_as_json(tmp_path: Path) -> None:
    head = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", '
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "scheduler.json").write_text(head + '"profiles": [{"schedulerName": "packer"}]}')
    assert [one.name for one in read_cluster(str(tmp_path)).inventory.schedulers] == ["packer"]
    (tmp_path / "scheduler2.json").write_text(head + '"profiles": []}')
    with pytest.raises(ClusterError) as refused:
        read_cluster(str(tmp_path))
    assert (refused.value.line, refused.value.message) == (1, "a second KubeSchedulerConfiguration: expected one")


def test_the_library_reads_it_too(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(f"{HEAD}profiles: [{{schedulerName: packer}}]\n")
    cluster = load_cluster(text=CLUSTER, scheduler_config=file)
    assert [one.name for one in cluster.inventory.schedulers] == ["packer"]


def test_a_wrong_configuration_ends_with_its_place(tmp_path: Path) -> None:
    scheduler = tmp_path / "scheduler.yaml"
    scheduler.write_text(f"{HEAD}profiles: [{{percentageOfNodesToScore: 200}}]\n")
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "web.yaml").write_text(WEB.replace("SPEC", ""))
    stated = ClusterOptions(scheduler_config=str(scheduler))
    request = Request((str(tmp_path / "web.yaml"),), str(tmp_path / "cluster.yaml"), cluster_options=stated)
    (error,) = check(request, Options(), Rulebook.shipped()).errors
    assert (error.path, error.line) == (str(scheduler), 3)
