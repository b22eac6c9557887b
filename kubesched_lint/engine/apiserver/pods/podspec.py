"""The spec of a pod, in the API server's order of checks.

Mirrors ``ValidatePodSpec`` in ``pkg/apis/core/validation/validation.go`` (v1.36). If a rule depends on a feature gate
whose default is uncertain, only what both sets refuse is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pod_groups import scheduling_group
from kubesched_lint.engine.apiserver.pods.affinity import affinity, label_keys
from kubesched_lint.engine.apiserver.pods.containers import (
    Surroundings,
    containers,
    ephemeral_containers,
    init_containers,
)
from kubesched_lint.engine.apiserver.pods.resources import pod_resources, requirements
from kubesched_lint.engine.apiserver.pods.security import pod_security_context
from kubesched_lint.engine.apiserver.pods.systems import host_users, hostname_override, operating_system
from kubesched_lint.engine.apiserver.pods.volumes import volumes
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    duplicate,
    field_of,
    invalid,
    named,
    not_found,
    not_supported,
    one_of,
    required,
)
from kubesched_lint.engine.apiserver.values.labels import label_map, label_name, label_selector
from kubesched_lint.engine.apiserver.values.names import (
    dns_label,
    dns_subdomain,
    dns_subdomain_with_underscore,
    in_range,
    ip_address,
    label_value,
    qualified_name,
)
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_INT32 = (1 << 31) - 1


def pod_spec(spec: Value, path: Path, *, pod: Value | None = None) -> Iterator[Cause]:
    """Yield causes; ``pod`` is the metadata of a Pod, None for a template, which has fewer checks."""
    is_pod = pod is not None
    sound: dict[str, Value] = {}
    if "volumes" in spec:
        yield from volumes(spec["volumes"], (pod or {}).get("name", ""), sound, (*path, "volumes"))
    if "resourceClaims" in spec:
        yield from _resource_claims(spec["resourceClaims"], (*path, "resourceClaims"))
    yield from _all_containers(spec, sound, path)
    if "resources" in spec:
        yield from pod_resources(spec, path)
    if "hostNetwork" in spec:
        yield from _host_network_ports(spec, path, is_pod=is_pod)
    if "restartPolicy" in spec or "dnsPolicy" in spec:
        yield from _choices(spec, path)
    if "nodeSelector" in spec:
        yield from label_map(spec["nodeSelector"], (*path, "nodeSelector"))
    if "securityContext" in spec:
        yield from pod_security_context(spec["securityContext"], spec, (*path, "securityContext"))
    if "affinity" in spec:
        yield from affinity(spec["affinity"], (*path, "affinity"))
    if "dnsConfig" in spec or "dnsPolicy" in spec:
        yield from _dns(spec, path)
    for i, gate in enumerate(spec.get("readinessGates", ())):
        for detail in qualified_name(gate.get("conditionType", "")):
            yield invalid((*path, "readinessGates", i, "conditionType"), gate.get("conditionType", ""), detail)
    if "schedulingGates" in spec:
        yield from scheduling_gates(spec["schedulingGates"], (*path, "schedulingGates"))
    if "topologySpreadConstraints" in spec:
        yield from topology_spread_constraints(spec["topologySpreadConstraints"], (*path, "topologySpreadConstraints"))
    if spec.get("hostUsers") is False or "hostnameOverride" in spec or "os" in spec:
        yield from host_users(spec, path)
        yield from hostname_override(spec, path)
    if not _NAMES.isdisjoint(spec):
        yield from _names(spec, path)
    if "overhead" in spec:
        yield from overhead(spec["overhead"], (*path, "overhead"))
    if "os" in spec:
        yield from operating_system(spec, path)
    if "schedulingGroup" in spec:
        yield from scheduling_group(spec["schedulingGroup"], (*path, "schedulingGroup"))
    yield from _file_key_volumes(spec, path)


_NONE: frozenset[str] = frozenset()


def _all_containers(spec: Value, sound: dict[str, Value], path: Path) -> Iterator[Cause]:
    pod = Surroundings(
        volumes=sound,
        claims=frozenset(c["name"] for c in spec["resourceClaims"] if c.get("name"))
        if "resourceClaims" in spec
        else _NONE,
        grace=spec.get("terminationGracePeriodSeconds", 30),
        system=spec.get("os", {}).get("name", ""),
        restart_policy=spec.get("restartPolicy") or "Always",
        host_users=spec.get("hostUsers", True),
    )
    regular, initial = spec.get("containers", ()), spec.get("initContainers", ())
    yield from containers(regular, pod, (*path, "containers"))
    if initial:
        yield from init_containers(initial, regular, pod, (*path, "initContainers"))
    if "ephemeralContainers" in spec:
        others = (*regular, *initial)
        yield from ephemeral_containers(spec["ephemeralContainers"], others, pod, (*path, "ephemeralContainers"))


def _resource_claims(claims: Sequence[Value], path: Path) -> Iterator[Cause]:
    names = set()
    for i, claim in enumerate(claims):
        claim_path = (*path, i)
        name = claim.get("name", "")
        if not name:
            yield required((*claim_path, "name"))
        elif name in names:
            yield duplicate((*claim_path, "name"), name)
        else:
            yield from complaints((*claim_path, "name"), name, dns_label(name))
            names.add(name)
        given = [part for part in ("resourceClaimName", "resourceClaimTemplateName") if part in claim]
        shown = {
            "Name": name,
            "ResourceClaimName": claim.get("resourceClaimName"),
            "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
        }
        if len(given) == 2:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid(claim_path, shown, detail)
        if not given:
            yield invalid(claim_path, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for part in given:
            yield from complaints((*claim_path, part), claim[part], dns_subdomain(claim[part]))


def _host_network_ports(spec: Value, path: Path, *, is_pod: bool) -> Iterator[Cause]:
    if not spec["hostNetwork"]:
        return
    for i, container in enumerate(spec.get("containers", ())):
        for j, port in enumerate(container.get("ports", ())):
            host, number = port.get("hostPort", 0), port.get("containerPort", 0)
            if host != number and (host or is_pod):
                at = (*path, "containers", i, "ports", j, "hostPort")
                yield invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def _choices(spec: Value, path: Path) -> Iterator[Cause]:
    policy = spec.get("restartPolicy") or "Always"
    yield from one_of((*path, "restartPolicy"), policy, _RESTART_POLICIES)
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    yield from one_of((*path, "dnsPolicy"), policy, _DNS_POLICIES)


def _dns(spec: Value, path: Path) -> Iterator[Cause]:
    config, config_path = spec.get("dnsConfig"), (*path, "dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(config_path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            at = (*config_path, "nameservers")
            yield required(at, "must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", ()), config.get("searches", ())
    if len(servers) > 3:
        yield invalid((*config_path, "nameservers"), list(servers), "must not have more than 3 nameservers")
    for i, server in enumerate(servers):
        yield from ip_address(server, (*config_path, "nameservers", i))
    if len(searches) > 32:
        yield invalid((*config_path, "searches"), list(searches), "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid((*config_path, "searches"), list(searches), detail)
    for i, search in enumerate(searches):
        bare = search.removesuffix(".")
        for detail in dns_subdomain_with_underscore(bare) if search != "." else ():
            yield invalid((*config_path, "searches", i), bare, detail)
    for i, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield required((*config_path, "options", i), "must not be empty")


_NAMES = frozenset(
    (
        "activeDeadlineSeconds",
        "hostAliases",
        "hostname",
        "nodeName",
        "preemptionPolicy",
        "priorityClassName",
        "runtimeClassName",
        "serviceAccount",
        "serviceAccountName",
        "subdomain",
        "tolerations",
    )
)
"""The fields that ``_names`` checks; most specs have none."""


def _names(spec: Value, path: Path) -> Iterator[Cause]:
    """Yield causes in upstream's order: references by name, numbers, tolerations, aliases, classes."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount", "")
    for name, value in (("serviceAccountName", account), ("nodeName", spec.get("nodeName"))):
        for detail in dns_subdomain(value) if value else ():
            yield invalid((*path, name), value, detail)
    if not 1 <= spec.get("activeDeadlineSeconds", 1) <= _INT32:
        at = (*path, "activeDeadlineSeconds")
        yield invalid(at, spec["activeDeadlineSeconds"], in_range(1, _INT32))
    for name in ("hostname", "subdomain"):
        for detail in dns_label(spec[name]) if spec.get(name) else ():
            yield invalid((*path, name), spec[name], detail)
    if "tolerations" in spec:
        yield from tolerations(spec["tolerations"], (*path, "tolerations"))
    for i, alias in enumerate(spec.get("hostAliases", ())):
        alias_path = (*path, "hostAliases", i)
        yield from ip_address(alias.get("ip", ""), (*alias_path, "ip"))
        for j, name in enumerate(alias.get("hostnames", ())):
            yield from complaints((*alias_path, "hostnames", j), name, dns_subdomain(name))
    for detail in dns_subdomain(spec["priorityClassName"]) if spec.get("priorityClassName") else ():
        yield invalid((*path, "priorityClassName"), spec["priorityClassName"], detail)
    for detail in dns_subdomain(spec["runtimeClassName"]) if "runtimeClassName" in spec else ():
        yield invalid((*path, "runtimeClassName"), spec["runtimeClassName"], detail)
    if "preemptionPolicy" in spec:
        yield from preemption_policy(spec["preemptionPolicy"], (*path, "preemptionPolicy"))


def preemption_policy(policy: str, path: Path) -> Iterator[Cause]:
    if not policy:
        yield required(path)
    elif policy not in _PREEMPTION_POLICIES:
        yield not_supported(path, named(policy), _PREEMPTION_POLICIES)


def overhead(amounts: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; upstream checks the overhead like limits, and the field says so."""
    for cause in requirements({"limits": amounts}, path):
        inside = cause.path[len(path) + 1 :]
        yield Cause(cause.field, cause.reason, cause.message, (*path, *inside))


def _file_key_volumes(spec: Value, path: Path) -> Iterator[Cause]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(group, ())):
            for j, variable in enumerate(container.get("env", ())):
                if "valueFrom" in variable and "fileKeyRef" in variable["valueFrom"]:
                    reference_path = (*path, group, i, "env", j, "valueFrom", "fileKeyRef", "volumeName")
                    yield from _file_key_volume(variable["valueFrom"]["fileKeyRef"], spec, reference_path)


def _file_key_volume(reference: Value, spec: Value, path: Path) -> Iterator[Cause]:
    name = reference.get("volumeName", "")
    referenced = [volume for volume in spec.get("volumes", ()) if volume.get("name", "") == name]
    if not referenced:
        yield not_found(path, name)
    elif "emptyDir" not in referenced[-1] and len(referenced[-1]) > 1:
        yield invalid(path, name, "referenced volume must be of type emptyDir")


# --- Tolerations ------------------------------------------------------------------------------------------------------

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def tolerations(values: Sequence[dict[str, Any]], path: Path) -> Iterator[Cause]:
    for i, value in enumerate(values):
        yield from _toleration(value, (*path, i))


def _toleration(value: dict[str, Any], path: Path) -> Iterator[Cause]:
    key, operator, effect = value.get("key", ""), value.get("operator", ""), value.get("effect", "")
    if key:
        yield from label_name(key, (*path, "key"))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid((*path, "operator"), named(operator), detail)
    if "tolerationSeconds" in value and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid((*path, "effect"), named(effect), detail)
    written = value.get("value", "")
    match operator:
        case "" | "Equal":
            details = label_value(written)
            if details:
                yield invalid((*path, "operator"), written, ";".join(details))
        case "Exists":
            if written:
                yield invalid((*path, "operator"), written, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            yield not_supported((*path, "operator"), named(operator), ("Equal", "Exists", "Lt", "Gt"))
        case _:
            yield not_supported((*path, "operator"), named(operator), ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield not_supported((*path, "effect"), named(effect), _EFFECTS)


# --- Topology spread constraints and scheduling gates -----------------------------------------------------------------

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_POSITIVE = "must be greater than zero"


def topology_spread_constraints(constraints: Sequence[Value], path: Path) -> Iterator[Cause]:
    for i, constraint in enumerate(constraints):
        yield from _constraint(constraint, constraints[i + 1 :], (*path, i))


def _constraint(constraint: Value, rest: Sequence[Value], path: Path) -> Iterator[Cause]:
    max_skew = constraint.get("maxSkew", 0)
    if max_skew <= 0:
        yield invalid((*path, "maxSkew"), max_skew, _POSITIVE)
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    yield from one_of((*path, "whenUnsatisfiable"), action, _ACTIONS)
    for other in rest:
        if other.get("topologyKey", "") == key and other.get("whenUnsatisfiable", "") == action:
            field = f"{field_of(path)}.{{topologyKey, whenUnsatisfiable}}"
            yield duplicate((*path, "topologyKey"), f"{{{key}, {action}}}", field=field)
            break
    if "minDomains" in constraint:
        yield from _min_domains(constraint["minDomains"], action, (*path, "minDomains"))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(policy, "Honor") not in _POLICIES:
            yield not_supported((*path, policy), named(constraint[policy]), _POLICIES)
    selector = constraint.get("labelSelector")
    if constraint.get("matchLabelKeys"):
        yield from label_keys(constraint["matchLabelKeys"], (), selector, path)
    yield from label_selector(selector, (*path, "labelSelector"))


def _min_domains(number: int, action: str, path: Path) -> Iterator[Cause]:
    if number <= 0:
        yield invalid(path, number, _POSITIVE)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(path, number, detail)


def scheduling_gates(gates: Sequence[Value], path: Path) -> Iterator[Cause]:
    seen = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from complaints((*path, i), name, qualified_name(name))
        if name in seen:
            yield duplicate((*path, i), name)
        seen.add(name)
