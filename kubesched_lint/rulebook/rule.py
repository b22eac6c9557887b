"""A rule as the linter uses it, from the index, without reading its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.model.resources import may_be_devices
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity
from kubesched_lint.rulebook.wording import WordingError

if TYPE_CHECKING:
    from pathlib import Path as File


Check = Callable[..., Iterator[Hazard]]
Mend = Callable[..., Iterator["Remedy"]]
"""``fix(hazard, member)``, or ``fix(hazard, source, scenario)`` if the rule is not about a workload.

A remedy without a title uses the finding's help as its title.
"""
Templates = Mapping[str, str]
"""Variant → template. A single key ``""`` stands for every variant: the card has a plain string."""


def _scheduled(field: str) -> Callable[[Workload], object]:
    """Return a reader for a field that only the scheduler reads; it does not count in a pod with nodeName."""
    written = attrgetter(field)
    return lambda workload: not workload.pod.node_name and written(workload)


def _terms(pod: Pod) -> Iterator[PodAffinityTerm]:
    yield from pod.required_affinity
    yield from pod.required_anti_affinity
    yield from (weighted.term for weighted in pod.preferred_affinity)
    yield from (weighted.term for weighted in pod.preferred_anti_affinity)


def _constrained(is_one: Callable[[SpreadConstraint], object]) -> Callable[[Workload], object]:
    """Return whether a workload has a spread constraint of a sort, as ``_scheduled`` fields count."""
    return lambda workload: not workload.pod.node_name and any(map(is_one, workload.pod.spread))


FEATURES: Mapping[str, Callable[[Workload], object]] = {
    "required_affinity": _scheduled("pod.required_affinity"),
    "required_anti_affinity": _scheduled("pod.required_anti_affinity"),
    "preferred_affinity": _scheduled("pod.preferred_affinity"),
    "preferred_anti_affinity": _scheduled("pod.preferred_anti_affinity"),
    "spread": _scheduled("pod.spread"),
    "hard_spread": _constrained(attrgetter("is_hard")),
    "min_domains": _constrained(attrgetter("min_domains")),
    "spread_label_keys": _constrained(attrgetter("match_label_keys")),
    "namespace_selector": lambda workload: any(term.namespace_selector is not None for term in _terms(workload.pod)),
    "node_selector": attrgetter("pod.node_selector"),
    # An empty tuple is a feature as well: it matches no node.
    "required_node_affinity": lambda workload: workload.pod.required_node_terms is not None,
    "preferred_node_affinity": attrgetter("pod.preferred_node_terms"),
    "node_name": attrgetter("pod.node_name"),
    "tolerations": attrgetter("pod.tolerations"),
    "requests": attrgetter("pod.requests"),
    "init_containers": attrgetter("pod.init_containers"),
    "host_ports": attrgetter("pod.host_ports"),
    "host_network": attrgetter("pod.host_network"),
    "volumes": attrgetter("pod.volumes"),
    "annotations": attrgetter("annotations"),
    "claim_templates": attrgetter("claim_templates"),
    "scheduling_gates": attrgetter("pod.scheduling_gates"),
    "pod_group": attrgetter("pod.group"),
    "scheduler_name": lambda workload: workload.pod.scheduler_name != "default-scheduler",
    "priority_class": attrgetter("pod.priority_class"),
    "runtime_class": attrgetter("pod.runtime_class"),
    "resource_claims": attrgetter("pod.resource_claims"),
    "extended_resources": lambda workload: any(map(may_be_devices, workload.pod.requests)),
}
"""Feature that ``looks_at`` of a card may name → how to see whether a workload has it."""
FAMILIES: Mapping[str, str] = {
    "anti-affinity": "Pods that keep away from pods",
    "affinity": "Pods that go where other pods are",
    "spread": "Topology spread constraints",
    "topology": "Topology keys and the labels behind them",
    "node-affinity": "Node selectors and node affinity",
    "taints": "Taints, tolerations and cordons",
    "resources": "Requests and what nodes can hold",
    "ports": "Host ports",
    "daemonset": "DaemonSets",
    "rollout": "Rollouts, and the order in which StatefulSets start",
    "storage": "Claims, volumes and storage classes",
    "devices": "Devices and the claims for them",
    "autoscaling": "What scaling up brings",
    "disruption": "Drains, lost nodes and lost zones",
    "pools": "Node pools and what they can make",
    "scheduling": "Schedulers, priorities, gates and groups",
    "api": "What the API server refuses, or takes in silence",
    "waivers": "Suppressions that need attention",
}
"""The families of the shipped rules, in reading order."""


class Rule(Struct, frozen=True):
    """``params`` are the defaults of the check's keyword arguments. ``default`` is ``on``, ``strict`` or ``off``."""

    slug: str
    summary: str
    family: str
    severity: Severity
    evidence: tuple[str, ...]
    needs: tuple[str, ...]
    messages: Templates
    helps: Templates
    uses: tuple[str, ...] = ()
    about: str = "text"
    """``placement``, ``refusal`` or ``text``; ``verdict``: it reports what no rule about placement explains."""
    each: str = "workload"
    kinds: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Kinds: without an object of one of them in the set or the cluster, the check is not run."""
    default: str = "on"
    params: Mapping[str, object] = field(default_factory=dict)
    yields_to: tuple[str, ...] = ()
    """Rules that name the cause better, if one of them reports the same object."""
    yields_here_to: tuple[str, ...] = ()
    """Rules that name the cause better, if one of them reports the same place of the object."""
    fix: str = ""
    """``safe`` or ``unsafe``: the best that the ``fix`` beside the check offers; empty without one."""
    refuses: bool = False
    """Whether the API server refuses what the rule reports at full severity; other rules then check the rest."""
    absence: str = ""
    """``namespace`` or ``cluster``: where it claims that the set lacks something, so that what was not read may refute
    it; empty if it claims no such thing."""
    every_definition: bool = False
    """Whether it checks several definitions of one object; other rules get a set with one of each."""
    audit: str = ""
    """Where ``audit`` shows its findings (rules/CARDS.md); empty: as its family and evidence say."""
    once_per_run: bool = False
    """Whether a reader sees one of its findings, with the places of the others."""
    preview: bool = False
    """Whether it is new: then ``severity`` is at most a warning, whatever the card says."""
    formerly: tuple[str, ...] = ()
    since: str = ""
    code: Callable[[], Check] | None = None
    """Returns the check of a rule that is not shipped."""
    mender: Callable[[], Mend] | None = None
    """Returns the fix of such a rule."""
    card: str = ""
    """The path of its card if it is not shipped."""

    def among(
        self, workloads: Sequence[Workload], carriers: dict[str, Sequence[Workload]] | None = None
    ) -> Sequence[Workload]:
        """The workloads that the check may report on, by kind and features.

        ``carriers`` caches, for all rules, which of the ``workloads`` have a feature.
        """
        carriers = {} if carriers is None else carriers
        for feature in self.features:
            if feature not in carriers:
                carriers[feature] = tuple(filter(FEATURES[feature], workloads))
        among_them = workloads
        if len(self.features) == 1:
            among_them = carriers[self.features[0]]
        elif self.features:
            any_of_them = {workload for feature in self.features for workload in carriers[feature]}
            among_them = [workload for workload in workloads if workload in any_of_them]
        return [workload for workload in among_them if workload.kind in self.kinds] if self.kinds else among_them

    @property
    def marks(self) -> tuple[str, ...]:
        """The remarks beside the severity in lists: a profile other than the default one, and ``preview``."""
        return (*(() if self.default == "on" else (self.default,)), *(("preview",) if self.preview else ()))

    def message(self, variant: str = "") -> str:
        """The message template of this variant. Raises WordingError if the card has none."""
        return _worded(self.messages, variant, self.slug)

    def help(self, variant: str = "") -> str:
        """The help template of this variant. Raises WordingError if the card has none."""
        return _worded(self.helps, variant, self.slug)

    def check(self) -> Check:
        """The rule's check, imported or compiled on first use. Raises ImportError without one."""
        if self.code is not None:
            return self.code()
        check: Check = self._module().check
        return check

    def mend(self) -> Mend:
        """The function ``fix`` beside the check. Raises ImportError or AttributeError without one."""
        if self.mender is not None:
            return self.mender()
        fix: Mend = self._module().fix
        return fix

    def _module(self) -> Any:
        return __import__(f"kubesched_lint.checks.{module_name(self.slug)}", fromlist=["check"])


def module_name(slug: str) -> str:
    return slug.replace("-", "_")


def cards_folder() -> File:
    """The folder of the shipped cards: inside the package in a wheel, beside it in a checkout."""
    package = checks_folder().parent
    shipped = package / "rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def checks_folder() -> File:
    from pathlib import Path as File  # 3 ms, and most runs ask for no folder

    return File(__file__).parent.parent / "checks"


def _worded(templates: Templates, variant: str, slug: str) -> str:
    if "" in templates:
        return templates[""]
    template = templates.get(variant or "default")
    if template is None:
        raise WordingError(f"the card of {slug} has no words for the variant `{variant or 'default'}`")
    return template
