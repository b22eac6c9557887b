"""The admission of one cluster: lint, simulate and why ask it what happens to a pod on creation.

The order is that of the API server (v1.36, ``kubeapiserver/options/plugins.go``): mutating plugins (LimitRanger,
Priority, RuntimeClass), validation of their result, validating plugins (LimitRanger, PodSecurity, RuntimeClass).
ResourceQuota comes last and counts: see ``engine.scenario.quotas``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from kubesched_lint.engine.admission.decision import CREATED, VALIDATION, AdmissionRefusal, Decision
from kubesched_lint.engine.admission.mutating import admit, default_priority_class, system_priority_classes
from kubesched_lint.engine.admission.quotas import QuotasOfNamespace, in_words, required_by, unset
from kubesched_lint.engine.admission.reach import InReach, is_in_reach
from kubesched_lint.engine.admission.schedulers import Schedulers
from kubesched_lint.engine.apiserver import class_plugins
from kubesched_lint.engine.apiserver.objects.workloads import stateful_pods
from kubesched_lint.engine.apiserver.validate import in_brackets
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import Manifest, Source
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.base.quirks import TEMPLATES_OF_STATEFUL_SETS, has
from kubesched_lint.engine.model.policy import LimitRange, Namespace, PriorityClass, ResourceQuota
from kubesched_lint.engine.model.workload import written_template

if TYPE_CHECKING:
    from collections.abc import Container

    from kubesched_lint.engine.admission.limits import Defaults
    from kubesched_lint.engine.admission.podsecurity import Policy
    from kubesched_lint.engine.model.inventory import Inventory
    from kubesched_lint.engine.model.labels import Labels
    from kubesched_lint.engine.model.pod import Pod
    from kubesched_lint.engine.model.policy import LimitItem, RuntimeClass
    from kubesched_lint.engine.model.workload import Workload


P = TypeVar("P", "LimitRange", "ResourceQuota")

ENFORCE = "pod-security.kubernetes.io/enforce"


class Admission:
    """``objects`` are the manifests laid over the cluster; the cluster has no other objects of the kinds in ``known``.

    ``is_snapshot``: objects of other kinds may or may not exist. For a sketch, all named classes are assumed to exist,
    and no further LimitRange. ``mutated`` returns the pod of a workload with what webhooks add to its template.
    """

    def __init__(
        self,
        objects: Inventory,
        kubernetes_version: str,
        known: Container[str] = (),
        *,
        is_snapshot: bool = True,
        mutated: Callable[[Workload], Pod] | None = None,
    ) -> None:
        self._mutated = mutated
        self.objects = objects
        self.known = known
        self.schedulers = Schedulers(objects, kubernetes_version)
        self.knows_limits = "LimitRange" in known
        self.is_snapshot = is_snapshot
        self.assumes_no_limits = not self.knows_limits and not is_snapshot
        self.version = kubernetes_version
        self.minor = int(kubernetes_version.split(".")[1])
        self._stored: dict[tuple[object, ...], Pod] = {}
        self._decided: dict[Workload, Decision] = {}

    def pod_of(self, workload: Workload) -> Pod:
        """Return the pod of a workload's template with what webhooks add, before the API server's own changes."""
        return workload.pod if self._mutated is None else self._mutated(workload)

    def stored(self, pod: Pod, extra_labels: Labels | None = None, source: Source | None = None) -> Pod:
        """Return the pod as stored, with its scheduler's profile; ``extra_labels`` are those that its controller adds.

        ``source`` is its workload's: LimitRanges that belong to other sample folders are skipped. Equal calls return
        the same object, so that scenarios and simulations share the pods of thousands of workloads.
        """
        labels = (*extra_labels, *extra_labels.values()) if extra_labels else ()
        key = (pod, source, *labels)  # flat, because thousands of workloads have one
        known = self._stored.get(key)
        if known is None:
            known = self._stored[key] = self._admitted(pod, extra_labels, source)
        return known

    def _admitted(self, pod: Pod, extra_labels: Labels | None, source: Source | None) -> Pod:
        found = admit(
            pod,
            extra_labels=extra_labels,
            priority_classes=self._given_classes,
            default_class=self._default_class,
            runtime_classes=self.runtime_classes,
            limit_ranges=self.limit_ranges_of(pod.namespace, source),
        )
        return self.schedulers.for_new_pod(found, self.schedulers.owner_of(pod, source))

    def decision(self, workload: Workload) -> Decision:
        """Return whether the pods of a workload are created; quotas are not considered."""
        known = self._decided.get(workload)
        if known is None:
            known = self._decided[workload] = self._decision(workload)
        return known

    def _decision(self, workload: Workload) -> Decision:
        pod, ranges = workload.pod, self.limit_ranges_of(workload.namespace, workload.source)
        asks = pod.priority_class or pod.runtime_class or pod.overhead or pod.preemption_policy
        held = workload.namespace in self._enforcing or workload.namespace in self._quotas
        is_late = workload.kind == "StatefulSet" and not has(self.version, TEMPLATES_OF_STATEFUL_SETS)
        if not asks and pod.priority is None and not ranges and not held and not is_late:
            return CREATED
        refusal = next(self._refusals(workload, ranges), None)
        if refusal is not None:
            return Decision(refusal)
        classes = tuple(self._unknown_classes(workload.pod))
        unknown = [f"whether {named} exists" for named, _ in classes if self.is_snapshot]
        unknown += self._unknown(workload, ranges)
        assumed = (
            *(f"{named} exists, {so}" for named, so in classes if not self.is_snapshot),
            *self._assumed_of_security(workload),
        )
        return Decision(unknown=tuple(unknown), assumed=assumed) if unknown or assumed else CREATED

    def _refusals(self, workload: Workload, ranges: tuple[LimitRange, ...]) -> Iterator[AdmissionRefusal]:
        yield from self._by_validation(workload)
        yield from self._by_priority(workload.pod)
        yield from self._by_runtime_class(workload.pod)
        if ranges:
            yield from self._by_limits(workload, ranges)
        yield from self._by_pod_security(workload)
        yield from self._by_overhead(workload.pod)
        if workload.namespace in self._quotas and (self.knows_limits or self.assumes_no_limits):
            yield from self._by_quota(workload)

    def _by_validation(self, workload: Workload) -> Iterator[AdmissionRefusal]:
        """Yield the refusal of each pod of a StatefulSet whose template the server of this version does not check."""
        if workload.kind != "StatefulSet" or has(self.version, TEMPLATES_OF_STATEFUL_SETS):
            return
        spec = value_at(getattr(workload.source, "value", None), ("spec",))
        causes = tuple(stateful_pods(spec, ())) if isinstance(spec, dict) else ()
        if causes:
            at = (*workload.pod.path[:-1], *causes[0].path)
            yield AdmissionRefusal(VALIDATION, in_brackets(causes), at)

    # --- Priority ---------------------------------------------------------------------------------------------------

    @cached_property
    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """Name → class, with Kubernetes' own two."""
        return {**system_priority_classes(), **self._given_classes}

    @cached_property
    def _given_classes(self) -> Mapping[str, PriorityClass]:
        return {c.name: c for c in self.objects.priority_classes}

    def _by_priority(self, pod: Pod) -> Iterator[AdmissionRefusal]:
        """Yield the refusals of admitPod in ``plugin/pkg/admission/priority``."""
        computed = self._priority_class_of(pod)
        if computed is None:
            if "PriorityClass" in self.known:
                message = class_plugins.no_priority_class(pod.priority_class)
                yield AdmissionRefusal("Priority", message, (*pod.path, "priorityClassName"))
            return
        if not pod.priority_class and not computed.name and "PriorityClass" not in self.known:
            return  # an unknown default class may have the same value
        if pod.priority is not None and pod.priority != computed.value:
            message = class_plugins.other_priority(pod.priority, computed.value)
            yield AdmissionRefusal("Priority", message, (*pod.path, "priority"))
        policy = computed.preemption_policy
        if pod.preemption_policy and pod.preemption_policy != policy:
            message = class_plugins.other_policy(pod.preemption_policy, policy)
            yield AdmissionRefusal("Priority", message, (*pod.path, "preemptionPolicy"))

    def _priority_class_of(self, pod: Pod) -> PriorityClass | None:
        """Return the class that sets the pod's priority; None if the pod names an unknown class."""
        if pod.priority_class:
            return self.priority_classes.get(pod.priority_class)
        return self._default_class or PriorityClass("")

    @cached_property
    def _default_class(self) -> PriorityClass | None:
        return default_priority_class(self._given_classes.values())

    # --- RuntimeClass -----------------------------------------------------------------------------------------------

    @cached_property
    def runtime_classes(self) -> Mapping[str, RuntimeClass]:
        """Name → class."""
        return {c.name: c for c in self.objects.runtime_classes}

    def tells_of_class(self, pod: Pod) -> bool:
        """Return whether it is known what the pod's RuntimeClass adds, or that there is none."""
        return not pod.runtime_class or "RuntimeClass" in self.known or pod.runtime_class in self.runtime_classes

    def _by_runtime_class(self, pod: Pod) -> Iterator[AdmissionRefusal]:
        """Yield what prepareObjects, setOverhead and setScheduling of ``plugin/pkg/admission/runtimeclass`` refuse."""
        if not pod.runtime_class:
            return
        found = self.runtime_classes.get(pod.runtime_class)
        if found is None:
            if "RuntimeClass" in self.known:
                message = class_plugins.no_runtime_class(pod.runtime_class)
                yield AdmissionRefusal("RuntimeClass", message, (*pod.path, "runtimeClassName"))
            return
        if found.overhead and pod.overhead and found.overhead != pod.overhead:
            there = ("overhead", "podFixed")
            yield AdmissionRefusal("RuntimeClass", class_plugins.OTHER_OVERHEAD, (*pod.path, "overhead"), found, there)
        for key, value in sorted(found.node_selector.items()):
            own = pod.node_selector.get(key, value)
            if own != value:
                message = class_plugins.other_node_selector(key, value, own)
                at = ("scheduling", "nodeSelector", key)
                yield AdmissionRefusal("RuntimeClass", message, (*pod.path, "nodeSelector", key), found, at)

    def _by_overhead(self, pod: Pod) -> Iterator[AdmissionRefusal]:
        """Yield the refusal of validateOverhead: only a class may set a pod's overhead."""
        found = self.runtime_classes.get(pod.runtime_class)
        if pod.overhead and (found is not None or not pod.runtime_class) and not (found and found.overhead):
            yield AdmissionRefusal("RuntimeClass", class_plugins.OVERHEAD_WITHOUT_CLASS, (*pod.path, "overhead"), found)

    # --- LimitRanger ------------------------------------------------------------------------------------------------

    def limit_ranges_of(self, namespace: str, source: Source | None = None) -> tuple[LimitRange, ...]:
        """Return the LimitRanges that apply to a workload of a namespace, by name."""
        found = self._limit_ranges.get(namespace)
        return found.of(source) if found is not None else ()

    @cached_property
    def _limit_ranges(self) -> Mapping[str, InReach[LimitRange]]:
        return {name: InReach(found) for name, found in _by_namespace(self.objects.limit_ranges).items()}

    def _by_limits(self, workload: Workload, ranges: tuple[LimitRange, ...]) -> Iterator[AdmissionRefusal]:
        """Yield the refusal of validation for the pod with defaults, then of the first violated LimitRange."""
        from kubesched_lint.engine.admission.limits import (
            SizedPod,
            broken,
            broken_by_claim,
            invalid_by_default,
            together,
        )

        defaults, differing = self._bounds_of(ranges)
        pod = SizedPod.of(workload.pod, written_template(workload), defaults)
        causes = tuple(invalid_by_default(pod))
        if causes:
            by = next(r for r in ranges if r.default_limits)
            at = causes[0].path
            yield AdmissionRefusal(VALIDATION, in_brackets(causes), at, by, ("spec", "limits"), _stands(by))
        for limits in differing:
            found = tuple(broken(pod, limits))
            if found:
                yield AdmissionRefusal(
                    "LimitRanger", together(found), found[0].at, limits, found[0].item.path, _stands(limits)
                )
            for claim in workload.claim_templates:
                bad = tuple(broken_by_claim(claim, limits))
                if bad:
                    at, by_at = bad[0].at, bad[0].item.path
                    yield AdmissionRefusal("LimitRanger", together(bad), at, limits, by_at, _stands(limits), claim.name)

    def _bounds_of(self, ranges: tuple[LimitRange, ...]) -> tuple[Defaults, Sequence[LimitRange]]:
        """Return the defaults of the LimitRanges, and the first of each that have the same bounds."""
        from kubesched_lint.engine.admission.limits import Defaults

        known = self._bounds.get(ranges)
        if known is None:
            first: dict[str, LimitRange] = {}
            for one in ranges:
                first.setdefault(str([(i.type, i.min, i.max, i.ratio) for i in one.items]), one)
            known = self._bounds[ranges] = Defaults.of(ranges), tuple(first.values())
        return known

    @cached_property
    def _bounds(self) -> dict[tuple[LimitRange, ...], tuple[Defaults, Sequence[LimitRange]]]:
        return {}

    # --- PodSecurity ------------------------------------------------------------------------------------------------

    @cached_property
    def _enforcing(self) -> Mapping[str, tuple[Namespace, Policy]]:
        """Name → namespace and the policy that it enforces."""
        if not any(ENFORCE in n.labels for n in self.objects.namespaces):
            return {}
        from kubesched_lint.engine.admission.podsecurity import policy_of

        found = ((n, policy_of(n.labels)) for n in self.objects.namespaces)
        return {n.name: (n, policy) for n, policy in found if policy is not None}

    def _by_pod_security(self, workload: Workload) -> Iterator[AdmissionRefusal]:
        namespace, policy = self._enforcing.get(workload.namespace, (None, None))
        if namespace is None or policy is None or self._is_cut(workload):
            return
        template = written_template(workload)  # it may be read again
        if not isinstance(template, dict):
            return
        if is_in_reach(namespace.source, workload.source, namespace.name):
            from kubesched_lint.engine.admission.podsecurity import violation

            # What a template lacks, its operator may set.
            asked = policy._replace(level="baseline") if _is_made_by_operator(workload) else policy
            message = violation(asked, template, self.minor)
            if message:
                assumes = (*_stands(namespace), "the API server's PodSecurity configuration exempts none of them")
                at = ("metadata", "labels", ENFORCE)
                # The policy asks for fields that webhooks, as those of OpenShift, may fill in.
                sure = policy.level != "restricted"
                if not sure:
                    assumes = (*assumes, "no webhook sets the fields that the policy requires")
                yield AdmissionRefusal("PodSecurity", message, workload.pod.path, namespace, at, assumes, sure=sure)

    def _is_cut(self, workload: Workload) -> bool:
        """Return whether a workload is the snapshot's own, of which only what scheduling reads was captured."""
        return self.is_snapshot and workload.source is not None and not isinstance(workload.source, Manifest)

    def _assumed_of_security(self, workload: Workload) -> Iterator[str]:
        namespace = self._enforcing.get(workload.namespace)
        if namespace is not None and self._is_cut(workload):
            yield f"its pods keep to PodSecurity {namespace[1]} of their namespace, as when they were made"

    # --- ResourceQuota ----------------------------------------------------------------------------------------------

    def quotas_of(self, workload: Workload, pod: Pod) -> tuple[ResourceQuota, ...]:
        """Return the quotas that count the pods of a workload, by name; ``pod`` is the stored one."""
        here = self._quotas.get(workload.namespace)
        found = here.that_count(workload, pod) if here is not None else ()
        work.spend(2 * len(found))
        return found

    @cached_property
    def _quotas(self) -> Mapping[str, QuotasOfNamespace]:
        if not self.objects.quotas:
            return {}
        return {name: QuotasOfNamespace(found) for name, found in _by_namespace(self.objects.quotas).items()}

    def _by_quota(self, workload: Workload) -> Iterator[AdmissionRefusal]:
        """Yield a quota's refusal if a container does not set a resource that the quota requires."""
        pod = self.stored(self.pod_of(workload), source=workload.source)
        left_out = unset(pod)
        for quota in self.quotas_of(workload, pod):
            missing = required_by(quota, left_out)
            if not missing:
                continue
            silent = next(name for names in missing.values() for name in names)
            at = next(c.path for c in (*pod.containers, *pod.init_containers) if c.name == silent)
            message = f"failed quota: {quota.name}: must specify {in_words(missing)}"
            premise = f"no LimitRange of namespace {workload.namespace} fills it in"
            assumes = (*([premise] if self.assumes_no_limits else []), *_stands(quota))
            sure = not self.assumes_no_limits
            yield AdmissionRefusal("ResourceQuota", message, at, quota, ("spec", "hard"), assumes, sure=sure)

    # --- what is unknown --------------------------------------------------------------------------------------------

    def _unknown_classes(self, pod: Pod) -> Iterator[tuple[str, str]]:
        """Yield each unknown class that a pod names, with the values that the model assumes for it."""
        if pod.priority_class and pod.priority_class not in self.priority_classes:
            yield f"PriorityClass {pod.priority_class}", "and gives priority 0"
        if pod.runtime_class and pod.runtime_class not in self.runtime_classes:
            yield f"RuntimeClass {pod.runtime_class}", "without overhead, nodeSelector and tolerations"

    def _unknown(self, workload: Workload, ranges: tuple[LimitRange, ...]) -> Iterator[str]:
        for limits in ranges:
            if not isinstance(limits.source, Manifest) and any(map(_says_nothing, limits.items)):
                yield f"which bounds LimitRange {limits.namespace}/{limits.name} sets, because the snapshot lacks them"
        if workload.namespace in self._quotas and not self.knows_limits:
            for refusal in self._by_quota(workload):
                yield f"whether a LimitRange of the namespace fills in what a quota asks for ({refusal.message})"
        _, policy = self._enforcing.get(workload.namespace, (None, None))
        if policy is None:
            return
        if policy.level == "restricted" and _is_made_by_operator(workload):
            yield f"whether the pods keep to PodSecurity {policy}, because their operator completes the template"
        elif not isinstance(written_template(workload), dict):
            yield f"whether the pods keep to PodSecurity {policy}, because their template is unknown"


def _is_made_by_operator(workload: Workload) -> bool:
    """Return whether the pod template is an operator's, and not one that stands in the custom resource or a chart."""
    source, own = workload.source, (*workload.pod.path, "containers")
    return isinstance(source, Manifest) and source.is_left_to_operator(own, workload.ref.kind)


def _by_namespace(policies: Sequence[P]) -> Mapping[str, Sequence[P]]:
    """Return policies by their namespace, in the order of their names."""
    found: dict[str, list[P]] = {}
    for policy in sorted(policies, key=lambda one: one.name):
        found.setdefault(policy.namespace, []).append(policy)
    return found


def _says_nothing(item: LimitItem) -> bool:
    """Return whether the item is empty: old snapshots left out maxLimitRequestRatio."""
    return not (item.min or item.max or item.ratio or item.default or item.default_request)


def _stands(by: LimitRange | Namespace | ResourceQuota) -> tuple[str, ...]:
    """Return the assumptions of a refusal by an object of the manifests."""
    if not isinstance(by.source, Manifest):
        return ()
    return (f"{type(by).__name__} {by.name} exists before the pods, as it does whenever they are created again",)
