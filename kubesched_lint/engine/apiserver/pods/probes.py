"""Probes and lifecycle hooks.

Mirrors ``validateProbe``, ``validateLifecycle`` and ``validateHandler`` in ``pkg/apis/core/validation/validation.go``
(v1.36), with the defaults of ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.apiserver.values.alike import is_sound
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    one_of,
    required,
)
from kubesched_lint.engine.apiserver.values.names import http_header, port_name, port_number
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
NEGATIVE = "must be greater than or equal to 0"
_SIGNALS = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP "
    "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_LINUX_SIGNALS = frozenset(
    (
        *(f"SIG{name}" for name in _SIGNALS.split(" ")),
        *(f"SIGRTMIN+{i}" for i in range(1, 16)),
        *(f"SIGRTMAX-{i}" for i in range(1, 15)),
    )
)
_WINDOWS_SIGNALS = frozenset(("SIGKILL", "SIGTERM"))


def probes(container: Value, grace: int, path: Path) -> Iterator[Cause]:
    """Yield the causes of a container's three probes; ``grace`` is the pod's terminationGracePeriodSeconds."""
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if kind not in container:
            continue
        probe, probe_path = container[kind], (*path, kind)
        if not is_sound(_probe, probe, grace):
            yield from _probe(probe, grace, probe_path)
        threshold = probe.get("successThreshold") or 1
        if kind == "readinessProbe":
            if "terminationGracePeriodSeconds" in probe:
                at, seconds = (*probe_path, "terminationGracePeriodSeconds"), probe["terminationGracePeriodSeconds"]
                yield invalid(at, seconds, "must not be set for readinessProbes")
        elif threshold != 1:
            yield invalid((*probe_path, "successThreshold"), threshold, "must be 1")


def _probe(probe: Value, grace: int, path: Path) -> Iterator[Cause]:
    yield from _handler(probe, grace, path)
    for name in _NUMBERS:
        if probe.get(name, 0) < 0:
            yield invalid((*path, name), probe[name], NEGATIVE)
    if probe.get("terminationGracePeriodSeconds", 1) <= 0:
        at = (*path, "terminationGracePeriodSeconds")
        yield invalid(at, probe["terminationGracePeriodSeconds"], "must be greater than 0")


def lifecycle(value: Value, grace: int, system: str, path: Path) -> Iterator[Cause]:
    """Yield causes; ``system`` is ``spec.os.name``."""
    for hook in ("postStart", "preStop"):
        if hook in value:
            yield from _handler(value[hook], grace, (*path, hook))
    if "stopSignal" in value:
        yield from _stop_signal(value["stopSignal"], system, (*path, "stopSignal"))


def _stop_signal(signal: str, system: str, path: Path) -> Iterator[Cause]:
    """Yield causes.

    If the gate ContainerStopSignals is off, the field is dropped, so only what no server accepts is refused.
    """
    if system == "windows" and signal not in _LINUX_SIGNALS | _WINDOWS_SIGNALS:
        yield not_supported(path, named(signal), sorted(_WINDOWS_SIGNALS))
    elif system == "linux" and signal not in _LINUX_SIGNALS:
        yield not_supported(path, named(signal), sorted(_LINUX_SIGNALS))


def _handler(value: Value, grace: int, path: Path) -> Iterator[Cause]:
    handlers = [kind for kind in _HANDLERS if kind in value]
    if not handlers:
        yield required(path, "must specify a handler type")
        return
    first, *others = handlers
    yield from _action(first, value[first], grace, (*path, first))
    for other in others:
        yield forbidden((*path, other), "may not specify more than 1 handler type")


def _action(kind: str, action: Value, grace: int, path: Path) -> Iterator[Cause]:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required((*path, "command"))
        case "httpGet":
            yield from _http_get(action, path)
        case "tcpSocket" | "grpc":
            yield from port(action.get("port", 0), (*path, "port"))
        case "sleep":
            seconds = action.get("seconds", 0)
            if not 0 <= seconds <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid((*path, "seconds"), seconds, detail, field=field_of(path))


def _http_get(action: Value, path: Path) -> Iterator[Cause]:
    yield from port(action.get("port", 0), (*path, "port"))
    scheme = action.get("scheme") or "HTTP"
    yield from one_of((*path, "scheme"), scheme, ("HTTP", "HTTPS"))
    for i, header in enumerate(action.get("httpHeaders", ())):
        name = header.get("name", "")
        for detail in http_header(name):
            yield invalid((*path, "httpHeaders", i, "name"), name, detail, field=field_of((*path, "httpHeaders")))


def port(value: int | str, path: Path) -> Iterator[Cause]:
    """Yield the causes of ``ValidatePortNumOrName``."""
    for detail in port_number(value) if isinstance(value, int) else port_name(value):
        yield invalid(path, value, detail)
