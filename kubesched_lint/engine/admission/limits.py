"""The refusals of LimitRanges: bounds of containers, pods and claims, in the words of the API server.

Mirrors ``plugin/pkg/admission/limitranger/admission.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubesched_lint.engine.apiserver.pods.resources import requirements
from kubesched_lint.engine.apiserver.values.causes import Cause
from kubesched_lint.engine.apiserver.values.quantities import NotAQuantityError, Quantity, in_resource_list
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.pod import Container, Pod, Resources
from kubesched_lint.engine.model.policy import LimitItem, LimitRange
from kubesched_lint.engine.model.storage import Claim

Amounts = Mapping[str, Quantity]
_MILLI = 10**6
_GIGA = 10**9
_POD_LEVEL = ("cpu", "memory")


class Broken(NamedTuple):
    """A violated bound: the API server's message, and the place of the amount that is too small or too large."""

    message: str
    at: Path
    item: LimitItem


class _Sized(NamedTuple):
    """A container with its amounts as written, else from a LimitRange."""

    path: Path
    requests: dict[str, Quantity]
    limits: dict[str, Quantity]
    is_sidecar: bool
    defaulted: frozenset[str]
    """Resources whose limit comes from a LimitRange."""


class Defaults(NamedTuple):
    """What containers get that do not say it; of several LimitRanges, the first decides."""

    requests: Amounts
    limits: Amounts

    @classmethod
    def of(cls, ranges: Sequence[LimitRange]) -> Defaults:
        requests: dict[str, Quantity] = {}
        limits: dict[str, Quantity] = {}
        for item in (i for limit_range in ranges for i in limit_range.items if i.type == "Container"):
            limits = {**_amounts(item.default), **limits}
            requests = {**_amounts(item.default_request), **requests}
        return cls(requests, limits)


class SizedPod(NamedTuple):
    """A pod after the defaults of LimitRanges."""

    pod: Pod
    template: object
    containers: tuple[_Sized, ...]
    init_containers: tuple[_Sized, ...]

    @classmethod
    def of(cls, pod: Pod, template: object, defaults: Defaults) -> SizedPod:
        """Return the pod; ``template`` is its PodTemplateSpec as written."""
        parts = (_sized(group, pod, template, defaults) for group in (pod.containers, pod.init_containers))
        return cls(pod, template, *parts)


def invalid_by_default(pod: SizedPod) -> Iterator[Cause]:
    """Yield why the pod is invalid after LimitRange defaults: a default limit is below the request."""
    for group, containers in (("containers", pod.containers), ("initContainers", pod.init_containers)):
        for i, sized in enumerate(containers):
            if not sized.defaulted:
                continue
            value = {
                "requests": {name: str(q) for name, q in sized.requests.items() if name in sized.defaulted},
                "limits": {name: str(q) for name, q in sized.limits.items() if name in sized.defaulted},
            }
            for cause in requirements(value, ("spec", group, i, "resources")):
                yield Cause(cause.field, cause.reason, cause.message, (*sized.path, *cause.path[3:]))


def broken(pod: SizedPod, limits: LimitRange) -> Iterator[Broken]:
    """Yield every bound of ``limits`` that the pod violates."""
    for item in limits.items:
        if item.type == "Container":
            for container in (*pod.containers, *pod.init_containers):
                at = (*container.path, "resources")
                yield from _broken_by_item(item, container.requests, container.limits, at)
        elif item.type == "Pod":
            level = value_at(pod.template, ("spec", "resources"))
            requests = _of_pod([c.requests for c in pod.containers], pod.init_containers, level, "requests")
            bounds = _of_pod([c.limits for c in pod.containers], pod.init_containers, level, "limits")
            yield from _broken_by_item(item, requests, bounds, pod.pod.path)


def broken_by_claim(claim: Claim, limits: LimitRange) -> Iterator[Broken]:
    """Yield the bounds that a claim's requests violate (PersistentVolumeClaimValidateLimitFunc)."""
    value = {} if claim.source is None else getattr(claim.source, "value", {})
    written = value_at(value, (*claim.path, "spec", "resources", "requests"))
    requests = _amounts(written) if isinstance(written, dict) else _plain({"storage": claim.request})
    at = (*claim.path, "spec", "resources")
    for item in limits.items:
        if item.type == "PersistentVolumeClaim":
            for name, bound in sorted(_amounts(item.min).items()):
                yield from _broken(_least(item.type, name, bound, requests, {}), name, at, item)
            for name, bound in sorted(_amounts(item.max).items()):
                yield from _broken(_most_asked(item.type, name, bound, requests), name, at, item)


def together(broken: Sequence[Broken]) -> str:
    """Return ``utilerrors.NewAggregate``: each message once, in brackets if there are several."""
    messages = tuple(dict.fromkeys(b.message for b in broken))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


# --- amounts --------------------------------------------------------------------------------------------------------


def _amounts(written: object) -> dict[str, Quantity]:
    """Return the quantities; what is none, or no mapping of them, is left out, because validation reports it."""
    amounts = {}
    for name, text in written.items() if isinstance(written, Mapping) else ():
        try:
            amounts[name] = in_resource_list(text)
        except NotAQuantityError:
            continue
    return amounts


def _sized(containers: Sequence[Container], pod: Pod, template: object, defaults: Defaults) -> tuple[_Sized, ...]:
    return tuple(_sized_one(c, value_at(template, _inside(c.path, pod)), defaults) for c in containers)


def _inside(path: Path, pod: Pod) -> Path:
    """Return a path of the object as a path of its template."""
    return path[max(len(pod.path) - 1, 0) :]


def _sized_one(container: Container, written: Any, defaults: Defaults) -> _Sized:
    resources = written.get("resources") if isinstance(written, dict) else None
    own = _amounts(resources.get("limits")) if isinstance(resources, dict) else _plain(container.limits)
    if isinstance(resources, dict):
        requests = {**own, **_amounts(resources.get("requests"))}
    else:
        requests = _plain(container.requests)
    limits = {**defaults.limits, **own}
    requests = {**defaults.requests, **requests}
    return _Sized(container.path, requests, limits, container.restart_always, frozenset(limits.keys() - own.keys()))


def _plain(amounts: Resources) -> dict[str, Quantity]:
    """Return decoded integers as quantities: millicores of cpu, whole units of all else."""
    return {
        name: Quantity(n * _MILLI) if name == "cpu" else Quantity(n * _GIGA, "DecimalSI" if n % 1024 else "BinarySI")
        for name, n in amounts.items()
    }


def _of_pod(running: Sequence[Amounts], init_containers: Sequence[_Sized], level: Any, key: str) -> dict[str, Quantity]:
    """Return podRequests or podLimits of limitranger: without overhead."""
    total: dict[str, Quantity] = {}
    for amounts in running:
        _add(total, amounts)
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        own = container.requests if key == "requests" else container.limits
        beside = dict(sidecars)
        _add(beside, own)
        if container.is_sidecar:
            _add(total, own)
            sidecars = beside
        _raise_to(peak, beside)
    _raise_to(total, peak)
    written = level.get(key) if isinstance(level, dict) else None
    if isinstance(written, dict):
        total |= {name: q for name, q in _amounts(written).items() if name in _POD_LEVEL}
    return total


def _add(total: dict[str, Quantity], more: Amounts) -> None:
    for name, q in more.items():
        known = total.get(name)
        form = q.form if known is None or not known.nanos else known.form
        total[name] = q if known is None else Quantity(known.nanos + q.nanos, form)


def _raise_to(peak: dict[str, Quantity], other: Amounts) -> None:
    for name, q in other.items():
        if name not in peak or q.nanos > peak[name].nanos:
            peak[name] = q


# --- bounds ---------------------------------------------------------------------------------------------------------


def _broken_by_item(item: LimitItem, requests: Amounts, limits: Amounts, at: Path) -> Iterator[Broken]:
    """Yield the violated bounds; Go walks maps in random order, here resources are in name order."""
    bounds: tuple[tuple[Mapping[str, object], Callable[..., str]], ...] = (
        (item.min, _least),
        (item.max, _most),
        (item.ratio, _ratio),
    )
    for written, constraint in bounds:
        for name, bound in sorted(_amounts(written).items()):
            yield from _broken(constraint(item.type, name, bound, requests, limits), name, at, item)


def _broken(message: str, name: str, at: Path, item: LimitItem) -> Iterator[Broken]:
    if message:
        part = "limits" if ", but limit is" in message else "requests"
        yield Broken(message, (*at, part, name), item)


def _least(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        return f"{text}.  No request is specified"
    if request.nanos < bound.nanos:
        return f"{text}, but request is {request}"
    return f"{text}, but limit is {limit}" if limit is not None and limit.nanos < bound.nanos else ""


def _most_asked(kind: str, name: str, bound: Quantity, requests: Amounts) -> str:
    request = requests.get(name)
    text = f"maximum {name} usage per {kind} is {bound}"
    if request is None:
        return f"{text}.  No request is specified"
    return f"{text}, but request is {request}" if request.nanos > bound.nanos else ""


def _most(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        return f"{text}.  No limit is specified"
    if limit.nanos > bound.nanos:
        return f"{text}, but limit is {limit}"
    return f"{text}, but request is {request}" if request is not None and request.nanos > bound.nanos else ""


def _ratio(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or not request.nanos:
        return f"{text}, but no request is specified or request is 0"
    if limit is None or not limit.nanos:
        return f"{text}, but no limit is specified or limit is 0"
    if limit.nanos * _GIGA > bound.nanos * request.nanos:
        return f"{text}, but provided ratio is {limit.nanos / request.nanos:.6f}"
    return ""
