"""What the set itself will add to nodes: labels and devices that no node has yet, and who makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.base.plain import mappings_at, value_at
from kubesched_lint.engine.base.quirks import EXTENDED_RESOURCES_OF_DEVICES, has
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.resources import DEVICE_CLASS, is_extended
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.pod import Pod
    from kubesched_lint.engine.model.workloads.workload import Workload

_PLUGINS = "/var/lib/kubelet/device-plugins"
"""The folder of the socket where a device plugin registers (k8s.io/kubelet deviceplugin/v1beta1, DevicePluginPath)."""
_VENDORS = {
    "nvidia": "nvidia.com",
    "rocm": "amd.com",
    "amd": "amd.com",
    "intel": "intel.com",
    "habana": "habana.ai",
    "neuron": "aws.amazon.com",
    "efa": "vpc.amazonaws.com",
}
"""Word in the name or the image of a device plugin → the domain of its resources."""
_LABELLERS = {
    "node-feature-discovery": "feature.node.kubernetes.io/",
    "gpu-feature-discovery": "nvidia.com/",
    "k8s-node-labeller": "amd.com/",
}
"""Word in the image of a daemon → prefix of the labels that it puts on its node."""


class MadeLater(Struct, frozen=True):
    """A label or a resource that pods require and no node has, but that may be there once the set has run."""

    what: str
    maker: str
    """Who makes it; empty for devices that drivers announce."""
    label: tuple[str, str] | None = None
    labeller: str = ""
    """The daemon that puts such labels on nodes, if nobody knows whether it runs: no node has one of its labels."""

    @property
    def fact(self) -> str:
        """What is not known."""
        if self.labeller:
            return f"whether {self.labeller}, which makes {self.what}, runs: no node has one of its labels"
        if not self.maker:
            return f"which nodes have devices for {self.what}, which only device allocation serves"
        return f"on which nodes {self.maker}, which the set brings, makes {self.what}"

    @property
    def premise(self) -> str:
        """What an error assumes."""
        if self.labeller:
            return f"{self.labeller} does not make {self.what} (no node has one of its labels)"
        if not self.maker:
            return f"no driver announces devices for {self.what} (the cluster file tells of none)"
        return f"{self.maker}, which the set brings, does not make {self.what}"


def made_later(pod: Pod, scenario: Scenario) -> Iterator[MadeLater]:
    """Yield what a pod requires, no node has, and the set or device allocation may add."""
    if scenario.cluster is None:
        return
    index = scenario.index
    for name, amount in pod.requests.items():
        if amount > 0 and not index.all & ~index.short_of(name, 1):
            if _needs_unknown_class(name, scenario):
                yield MadeLater(name, "")
            elif is_extended(name) and (maker := _maker_of_resource(name, scenario)):
                yield MadeLater(name, maker)
    if not index.matching(pod.node_selector, pod.required_node_terms):
        yield from _labels_made(pod, scenario)


def _needs_unknown_class(resource: str, scenario: Scenario) -> bool:
    """Whether only a DeviceClass that nobody tells of serves a resource: no device plugin may announce its name.

    Mirrors ``IsDRAExtendedResourceName`` and ``pkg/kubelet/cm/devicemanager`` (v1.36): the prefix is Kubernetes' own.
    """
    if not resource.startswith(DEVICE_CLASS) or scenario.cluster_has("DeviceClass"):
        return False
    is_defined = any(DEVICE_CLASS + c.name == resource for c in scenario.objects.device_classes)
    return not is_defined and has(scenario.premises.kubernetes_version, EXTENDED_RESOURCES_OF_DEVICES)


def _maker_of_resource(resource: str, scenario: Scenario) -> str:
    """Return who in the set makes an extended resource of nodes; empty if nobody does."""
    for maker in scenario.manifests.node_makers:
        if _is_among(resource, maker.resources):
            return str(maker)
    domain = resource.partition("/")[0]
    plugins = _plugins(scenario).items()
    return next((name for name, vendors in plugins if not vendors or _is_of(domain, vendors)), "")


def _is_of(domain: str, vendors: frozenset[str]) -> bool:
    return any(domain == vendor or domain.endswith(f".{vendor}") for vendor in vendors)


def _labels_made(pod: Pod, scenario: Scenario) -> Iterator[MadeLater]:
    """Yield the labels that no node has, that the pod requires, and that the set makes."""
    wanted = [Requirement(key, "In", (value,)) for key, value in pod.node_selector.items()]
    wanted += [r for term in pod.required_node_terms or () for r in term.expressions]
    for r in wanted:
        if r.operator not in ("In", "Exists", "Gt", "Lt") or scenario.index.with_key(r.key):
            continue
        maker = next((who for names, who in _makers_of_labels(scenario) if _is_among(r.key, names)), "")
        if maker:
            value = r.values[0] if r.operator == "In" and r.values else "true"
            yield MadeLater(f"the label {r.key}", maker, (r.key, value))
        elif labeller := _may_label(r.key, scenario):
            value = r.values[0] if r.operator == "In" and r.values else "true"
            yield MadeLater(f"the label {r.key}", labeller, (r.key, value), labeller)


def _may_label(key: str, scenario: Scenario) -> str:
    """Return the daemon that makes such labels, if no node has one: the file of the cluster may come from before it.

    Vendors' rules of node-feature-discovery have prefixes of their own, ``vendor.feature.node.kubernetes.io/``.
    """
    domains = {what.rstrip("/"): who for who, what in _LABELLERS.items()}
    own = next((domain for domain in domains if "/" in key and _is_of(key.partition("/")[0], frozenset({domain}))), "")
    if not own or any(_is_of(domain, frozenset({own})) for domain in _domains_of_labels(scenario)):
        return ""
    return domains[own]


@once_per_scenario
def _domains_of_labels(scenario: Scenario) -> frozenset[str]:
    return frozenset(name.partition("/")[0] for labels in scenario.index.labels for name in labels if "/" in name)


def _is_among(name: str, names: tuple[str, ...]) -> bool:
    return any(name == pattern or (pattern.endswith("/") and name.startswith(pattern)) for pattern in names)


@once_per_scenario
def _plugins(scenario: Scenario) -> Mapping[str, frozenset[str]]:
    """DaemonSet that brings a device plugin, and has no pod yet → the domains of its resources; none: any."""
    domains_of_plugins = {}
    for workload in _new_daemons(scenario):
        spec = value_at(getattr(workload.source, "value", None), workload.pod.path)
        paths = (volume.get("hostPath") for volume in mappings_at(spec, ("volumes",)))
        if any(isinstance(at, dict) and str(at.get("path")).rstrip("/") == _PLUGINS for at in paths):
            words = f"{workload.name} {_images(workload)}"
            domains_of_plugins[str(workload)] = frozenset(domain for word, domain in _VENDORS.items() if word in words)
    return domains_of_plugins


@once_per_scenario
def _makers_of_labels(scenario: Scenario) -> tuple[tuple[tuple[str, ...], str], ...]:
    """(names or prefixes of labels, who in the set puts them on nodes)."""
    makers = [(maker.labels, str(maker)) for maker in scenario.manifests.node_makers if maker.labels]
    makers += [((f"topology.{driver.name}/",), f"CSIDriver {driver.name}") for driver in scenario.manifests.csi_drivers]
    for workload in _new_daemons(scenario):
        images = _images(workload)
        makers += [((prefix,), str(workload)) for word, prefix in _LABELLERS.items() if word in images]
    return tuple(makers)


def _new_daemons(scenario: Scenario) -> Iterator[Workload]:
    """Yield the DaemonSets of the set that run nowhere yet: what others make of nodes, the cluster file shows."""
    pods = () if scenario.cluster is None else scenario.cluster.inventory.pods
    running = {(bound.namespace, bound.owner.name) for bound in pods if bound.owner is not None}
    for workload in scenario.manifests.workloads:
        if workload.kind == "DaemonSet" and (workload.namespace, workload.name) not in running:
            yield workload


def _images(workload: Workload) -> str:
    spec = value_at(getattr(workload.source, "value", None), workload.pod.path)
    containers = (c for key in ("initContainers", "containers") for c in mappings_at(spec, (key,)))
    return " ".join(str(container.get("image")) for container in containers)
