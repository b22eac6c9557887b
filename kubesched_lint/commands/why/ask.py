"""Answer ``why``: find the named pod, place the pods before it, and explain the decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.why.explain import BY_QUOTA, WITH_POOLS, Explanation, explain
from kubesched_lint.commands.why.groups import GroupAnswer, foreign_notes, group_answer, group_notes
from kubesched_lint.commands.why.naming import NamedObject, find
from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.base.work import OutOfWorkError, share, tried, within
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.daemonset import targets, with_daemon_tolerations
from kubesched_lint.engine.controllers.statefulset import claims_of, pod_with_claims
from kubesched_lint.engine.model.feature_gates import GROUPS
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.resources import made_anew
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import TODAY
from kubesched_lint.engine.placing.limits import MOST_PODS_TRIED
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.placing.scenarios import with_known_growth
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.devices.devices import allocator_for, allocator_of, needs_devices
from kubesched_lint.engine.scenario.gangs import gangs_of, gates_of
from kubesched_lint.engine.scenario.nodes.unknown_nodes import unknown_nodes
from kubesched_lint.engine.scenario.premises.device_premises import pod_premises
from kubesched_lint.engine.scenario.premises.premises import assumed_account
from kubesched_lint.engine.scenario.quotas import STANDING
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scenario.storage.claims import storage_to_be, without_unknown_storage
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.verdicts.missing_facts import fate_of_group, lacks_of
from kubesched_lint.explaining.crowding.beside import Turn, place_rest
from kubesched_lint.explaining.nodes.pool_notes import verdict_note
from kubesched_lint.explaining.objects.refused import accepted, refused_objects, sentence, what_is_refused
from kubesched_lint.explaining.pending import agreement
from kubesched_lint.explaining.sizes.quota_excess import exceeded_alone
from kubesched_lint.linter.environments.duplicate_definitions import one_of_each
from kubesched_lint.linter.environments.environments import environments_of


class Question(Struct, frozen=True):
    """``name`` as the user typed it; ``replica`` counts from 1, and earlier replicas are placed first."""

    name: str
    replica: int = 1
    keep_running: bool = False
    """Keep the running pods of the workload's previous revision in place, as a rolling update does at first."""
    alone: bool = False
    """Do not place the pods of the other workloads of the set."""
    apply_order: str = "kubectl"
    kubernetes_version: str = ""
    seed: int = 0
    together: tuple[str, ...] = ()
    """Paths that a target names: what lies there is applied together."""
    feature_gates: str = ""
    environments: tuple[str, ...] = ()
    """Names of the environments to answer in; empty: all of them."""
    counts_devices: bool = True
    """Ask the allocator of devices; not where it gave up."""

    @property
    def premises(self) -> Premises:
        """The facts besides the manifests and the cluster."""
        return Premises(self.apply_order, self.kubernetes_version, feature_gates=self.feature_gates)


class Answer(Struct, frozen=True):
    """An explanation, and the environments in which it holds if the manifests have several."""

    environments: tuple[str, ...]
    explanation: Explanation


def answer(question: Question, manifests: Inventory, cluster: Cluster) -> Explanation:
    """Return the explanation for the named pod; where environments differ, that of the last, which a note names.

    Raises like ``answers``.
    """
    all_answers = answers(question, manifests, cluster)
    explanation, where = all_answers[-1].explanation, all_answers[-1].environments
    others = [name for each in all_answers[:-1] for name in each.environments]
    note = [f"in {first_few(where)}; the answer differs in {first_few(others)}"] if others else []
    return replace(explanation, notes=(*explanation.notes, *note))


def answers(question: Question, manifests: Inventory, cluster: Cluster) -> list[Answer]:
    """Return the explanation for the named pod in each environment that has it; equal ones stand once.

    Raises NamingError, ClusterError if the nodes are unknown, ValueError for an environment that is not there, and
    OutOfWorkError beyond the limit of work.
    """
    if not cluster.knows_nodes:
        raise ClusterError(cluster.path, 0, 0, "the snapshot has no nodes, because they were not captured")
    environments = environments_of(manifests, question.together, question.environments).each
    subject = find(question.name, one_of_each(manifests)[0], cluster.inventory)
    ref = ObjectRef(subject.kind, subject.namespace, subject.name)
    asked = [
        environment for environment in environments if subject.workload is None or ref in environment.subjects
    ] or environments
    explanations: list[tuple[Explanation, list[str]]] = []
    for environment in asked:
        told = _answer(question, environment.whole, cluster)
        same = next((names for other, names in explanations if other == told), None)
        if same is None:
            explanations.append((told, [environment.name]))
        else:
            same.append(environment.name)
    return [Answer(tuple(filter(None, names)), told) for told, names in explanations]


def with_premises(answered: Answer, question: Question, cluster: Cluster) -> Answer:
    """Return the answer with notes on what is assumed for all pods."""
    more = (*not_modelled(question.kubernetes_version, cluster.server_version), *agreement(cluster, question.premises))
    return replace(answered, explanation=replace(answered.explanation, notes=(*answered.explanation.notes, *more)))


def _answer(question: Question, manifests: Inventory, cluster: Cluster) -> Explanation:
    """Return the explanation in a set that may define an object several times, but has no alternatives."""
    subject = find(question.name, one_of_each(manifests)[0], cluster.inventory)
    ours = (workload.source for workload in manifests.workloads if workload is subject.workload)
    once, chosen = one_of_each(manifests, next(ours, None))
    written = Scenario(once, cluster, question.premises)
    refused = refused_objects(written)
    why = refused.get(subject.workload.source) if subject.workload is not None else None
    if why is not None:
        return Explanation(str(subject), (), message=sentence(why), refused=why, not_created=True, notes=chosen)
    once, chosen = accepted(written).manifests, (*what_is_refused(written), *chosen)
    with within(MOST_STEPS):
        try:
            with within(share(0, 2)):
                explanation = _explanation(subject, question, once, cluster)
        except OutOfWorkError as reason:
            explanation = _explanation(subject, replace(question, counts_devices=False), once, cluster)
            chosen = (f"not known: which nodes have the devices: {reason}", *chosen)
    return replace(explanation, notes=(*explanation.notes, *chosen))


def _explanation(subject: NamedObject, question: Question, manifests: Inventory, cluster: Cluster) -> Explanation:
    if subject.bound is not None:
        return _pod_of_the_snapshot(subject, subject.bound, question, manifests, cluster)
    assert subject.workload is not None
    return _copy(subject, subject.workload, question, manifests, cluster)


def _copy(
    subject: NamedObject, workload: Workload, question: Question, manifests: Inventory, cluster: Cluster
) -> Explanation:
    """Return the explanation for the next pod of a workload, after its earlier replicas and the rest of the set."""
    scenario = Scenario(manifests, cluster, question.premises)
    running = scenario.member(workload).running_pods
    decision = scenario.admission.decision(workload)
    if decision.refusal is not None:
        refusal = decision.refusal
        notes = [f"assumed: {premise}" for premise in refusal.assumes]
        message = refusal.answer_to(workload)
        return Explanation(str(subject), (), message=message, notes=tuple(notes), not_created=True)
    lacks = lacks_of(scenario.member(workload))
    workload = without_unknown_storage(scenario.member(workload))
    away = () if question.keep_running else running
    state = _state(scenario, question, away)
    state.storage = storage_to_be(scenario)
    pod = scenario.member(workload).pod
    notes = [f"unknown: {what}; assumed to be fine" for what in decision.unknown]
    notes += _notes(scenario, workload, pod, running, question)
    notes += _of_pools(with_known_growth(scenario).member(workload))
    notes += _of_quotas(scenario.member(workload))
    notes += [f"assumed: {premise}" for premise in pod_premises(scenario.member(workload))]
    notes += [f"not known: {fact}" for fact in filter(None, [unknown_nodes(pod, scenario)])]
    group, of_groups = _of_gangs(scenario, workload) if gangs_of(scenario) else (None, [])
    fate = fate_of_group(pod.group)
    answered = group is not None or any(fate in note for note in of_groups)
    left = [lack for lack in lacks if not answered or lack.text != fate]
    notes += [f"not known: {lack.text}" if lack.unknown else f"assumed: {lack.text}" for lack in left]
    notes += of_groups
    notes += _profile_note(pod)
    if workload.kind == "DaemonSet":
        return _daemon(str(subject), scenario.member(workload), state, question, notes)
    earlier = _Earlier(_Copies(workload, scenario, state), state, owner_selector(workload, pod.labels), question)
    notes += _beside(scenario.member(workload), state, earlier, question)
    placed, title = earlier.placed, str(subject)
    if placed < question.replica - 1:
        notes.append(f"replica {placed + 1} already finds no node, so this explains replica {placed + 1}")
    if placed:
        were = plural(placed, "replica was", "replicas were")
        notes.append(f"{placed} earlier {were} placed first, in one possible way (--seed tries another)")
        title = f"replica {placed + 1} of {title}"
    explanation = explain(earlier.next, state, earlier.owner, subject=title, notes=notes)
    wanted = scenario.member(workload).replicas
    explanation = replace(explanation, replica=placed + 1, replicas=wanted, group=group, may_grow=bool(scenario.pools))
    if not explanation.fitting or wanted > MOST_PODS_TRIED:
        return explanation
    number, why = tried(lambda: earlier.waits_from(wanted), (0, ""))
    return replace(explanation, waits_from=number, waits_because=why)


def _of_gangs(scenario: Scenario, workload: Workload) -> tuple[GroupAnswer | None, list[str]]:
    """Return the answer about the gang of a workload, and notes about it and those that other systems admit."""
    notes = [*group_notes(scenario, workload), *foreign_notes(scenario, workload)]
    return group_answer(scenario, workload), notes


def _profile_note(pod: Pod) -> Iterator[str]:
    if pod.profile is not None and pod.profile.is_known:
        yield f"scheduled by the profile {pod.profile.name} ({pod.profile.origin})"


def _daemon(title: str, member: Member, state: ClusterState, question: Question, notes: list[str]) -> Explanation:
    pod = with_daemon_tolerations(member.pod)
    nodes = targets(pod, state.index)[0]
    notes += _beside(member, state, lambda: (nodes & ~diagnose(pod, state).feasible == 0, 0), question)
    explanation = explain(pod, state, subject=title, notes=notes, one_node_each=True)
    # The scheduler's message for a pod that may go anywhere applies to none of the DaemonSet's pods.
    return replace(explanation, made_for=nodes.bit_count(), message="", nominated="", victims=())


def _beside(it: Member, state: ClusterState, turn: Turn, question: Question) -> Iterator[str]:
    """Place the pods of the other manifests unless --alone is given; yield notes about it."""
    others = [w for w in it.scenario.as_created if w.ref != it.workload.ref]
    if not others or question.alone:
        turn()
        if others:
            yield "the pods of the other manifests are not placed (--alone)"
        return
    beside = place_rest(it.scenario.without_pools.member(it.workload), state, turn, question.seed)
    if beside is None:
        turn()
        yield f"the pods of the other manifests are not placed: they are more than {MOST_PODS_TRIED:,}"
        return
    were = plural(beside.placed, "was", "were")
    nowhere = f"found no node ({first_few(list(map(str, beside.whose)))})"
    first = f"{_pods(beside.placed)} of the other manifests {were} placed first, in one possible order"
    parts = [
        first,
        *[f"{beside.waiting} more {nowhere}"] * bool(beside.waiting),
        *[f"{beside.later} come later"] * bool(beside.later),
    ]
    if beside.placed:
        yield f"{'; '.join(parts)} (--alone places none)"
    elif beside.waiting:
        yield f"{_pods(beside.waiting)} of the other manifests {nowhere} (--alone places none)"
    if beside.cut:
        yield "more pods of the other manifests might find nodes: placing them was stopped at the limit of work"
    ending = [w for w in others if w.kind in ("Job", "CronJob")]
    if ending:
        yield f"pods of {_first(ending)} are left out, because they finish"


def _first(workloads: Sequence[Workload]) -> str:
    return first_few([str(workload) for workload in workloads], most=1)


class _Earlier:
    """Places the replicas before the one in question, one after another, until one finds no node."""

    def __init__(self, copies: _Copies, state: ClusterState, owner: Selector | None, question: Question) -> None:
        self._copies = copies
        self._state = state
        self._question = question
        self.owner = owner
        self.placed = 0

    @property
    def next(self) -> Pod:
        return self._copies[self.placed]

    def __call__(self) -> tuple[bool, int]:
        """Return (whether the replica in question fits now, number of earlier replicas that this call bound)."""
        wanted = self._question.replica - 1
        bound = self._place(wanted)
        return self.placed == wanted and bool(diagnose(self.next, self._state).feasible), bound

    def waits_from(self, wanted: int) -> tuple[int, str]:
        """Return the first of ``wanted`` replicas that finds no node after the others, from 1, and its message.

        (0, "") if all find one.
        """
        self._place(wanted)
        if self.placed == wanted:
            return 0, ""
        return self.placed + 1, explain(self.next, self._state, self.owner).message

    def _place(self, wanted: int) -> int:
        """Place replicas until so many are; return how many this call bound."""
        ahead: list[Copies] = []
        for i in range(self.placed, wanted):
            pod = self._copies[i]
            if ahead and ahead[-1].pod is pod:
                ahead[-1].left += 1
            else:
                ahead.append(Copies(pod, self.owner, 1, ahead[-1] if ahead else None))
        Placing(ahead, self._state, seed=self._question.seed + self.placed).run()
        bound = wanted - self.placed - sum(copies.left for copies in ahead)
        self.placed += bound
        return bound


def _of_quotas(it: Member) -> Iterator[str]:
    """Yield how many pods of the workload a quota lets in, where not all: a node is only for those."""
    for quota in it.scenario.admission.quotas_of(it.workload, it.pod) if it.workload.kind in STANDING else ():
        excess = exceeded_alone(it, quota)
        if excess is not None:
            most = f"at most {excess.allowed} of its {many(pods_wanted(it), 'pod')}"
            yield f"{BY_QUOTA}ResourceQuota {quota.name} lets in {most}: it {excess.in_words}"


def _of_pools(it: Member) -> Iterator[str]:
    """Yield a note about nodes that pools would add for the whole set; the answer covers existing nodes only."""
    if not it.scenario.pools or it.workload.kind == "DaemonSet":
        return
    verdict = next((v for v in growth_plan(it.scenario).verdicts if v.workload.ref == it.workload.ref), None)
    if verdict is not None and verdict.kind != TODAY:
        yield f"{WITH_POOLS}{verdict_note(verdict)}"


def _pod_of_the_snapshot(
    subject: NamedObject, bound: BoundPod, question: Question, manifests: Inventory, cluster: Cluster
) -> Explanation:
    """Return the decision for a pod of the snapshot; a bound pod is removed first."""
    scenario = Scenario(manifests, cluster, question.premises)
    state = _state(scenario, question, (bound,), bound.pod)
    everything = (*cluster.inventory.workloads, *manifests.workloads)
    mine = next((w for w in everything if any(p is bound for p in cluster.running.pods_of(w))), None)
    owner = owner_selector(mine, bound.pod.labels) if mine is not None else None
    notes = [f"it runs on {bound.node} now; this explains where a new copy would go"] if bound.node else []
    if needs_devices(bound.pod, scenario) and state.devices is None:
        notes.append("not known: which nodes have the devices of its claims")
    pod = scenario.admission.schedulers.for_next_copy(made_anew(bound.pod, mine.pod if mine else None), mine)
    if pod.group and not bound.node and gates_of(scenario).get(GROUPS) is not False:
        notes.append(f"not known: {fate_of_group(pod.group)}")
    return explain(pod, state, owner, subject=str(subject), notes=[*notes, *_profile_note(pod)])


class _Copies:
    """The pods of a workload by ordinal; each pod of a StatefulSet has its own labels and claims."""

    def __init__(self, workload: Workload, scenario: Scenario, state: ClusterState) -> None:
        self._workload = workload
        self._scenario = scenario
        self._state = state
        self._pod = scenario.member(workload).pod

    def __getitem__(self, ordinal: int) -> Pod:
        workload = self._workload
        pod = self._scenario.member(workload).pod_of_ordinal(ordinal) if self._scenario.varying_labels else self._pod
        if workload.kind != "StatefulSet" or not workload.claim_templates:
            return pod
        storage = self._state.storage
        new = (c for c in claims_of(workload, ordinal) if storage.claim(c.namespace, c.name) is None)
        self._state.storage = storage.with_objects(new)
        return pod_with_claims(workload, pod, ordinal)


def _state(scenario: Scenario, question: Question, away: Sequence[BoundPod], asked: Pod | None = None) -> ClusterState:
    """Return the existing nodes with all running pods except those in ``away``; ``asked`` is none of the manifests."""
    gone = set(away)
    staying = tuple(p for p in scenario.objects.pods if p not in gone)
    today = scenario.without_pools
    needy = asked is not None and needs_devices(asked, scenario)
    allocator = allocator_for((asked,), today) if asked is not None and needy else allocator_of(today)
    objects = replace(scenario.objects, pods=staying, allocator=allocator if question.counts_devices else ())
    index = scenario.without_pools.index
    return ClusterState(index, objects, kubernetes_version=scenario.premises.kubernetes_version)


def _notes(
    scenario: Scenario, workload: Workload, pod: Pod, running: tuple[BoundPod, ...], question: Question
) -> Iterator[str]:
    if pod.node_name:
        yield f"spec.nodeName is set: the pod skips the scheduler, and the kubelet of {pod.node_name} admits it"
    if workload.suspended:
        yield f"{workload.suspended_field} is true: no pod is created until somebody resumes the {workload.ref.kind}"
    account = assumed_account(scenario, workload)
    if account:
        yield f"assumed to exist: ServiceAccount {account}"
    if workload.kind == "DaemonSet":
        yield "each pod of a DaemonSet is created for one node; none where labels or taints exclude it"
    if running and question.keep_running:
        yield f"{_pods(len(running))} of its running revision stay in place"
    elif running:
        gone = plural(len(running), "was", "were")
        yield f"its {many(len(running), 'running pod')} {gone} taken away first (--keep-running leaves all in place)"


def _pods(count: int) -> str:
    return f"{count} {plural(count, 'pod')}"
