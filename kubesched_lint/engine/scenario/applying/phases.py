"""The phases in which a tool applies a set: hooks of Helm, hooks and sync waves of Argo CD. Each waits for the last.

Helm executes hooks of one event by their weight, and waits for a Job or a Pod among them to end
(``helm/pkg/action/hooks.go``). Argo CD applies hooks by phase, then wave, and starts a wave only when all objects of
the one before are healthy (``gitops-engine/pkg/sync``); it runs Helm's hooks ``pre-install`` as PreSync and
``post-install`` as PostSync.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.scenario.applying.order import WAVE, sync_wave

_HELM = "helm.sh/hook"
_WEIGHT = "helm.sh/hook-weight"
_ARGOCD = "argocd.argoproj.io/hook"
_PHASES = {"PreSync": -1, "Sync": 0, "PostSync": 1}


class Phase(NamedTuple):
    """When an object is created: the hook's phase, and its place in it. Smaller is earlier."""

    phase: int
    wave: int

    def words(self, annotations: Mapping[str, str]) -> str:
        """Return how the object says it: ``hook pre-install``, ``wave -5``."""
        if _ARGOCD in annotations:
            return f"hook {annotations[_ARGOCD]}" + (f", wave {self.wave}" if self.wave else "")
        if _HELM in annotations:
            return f"hook {annotations[_HELM]}" + (f", weight {self.wave}" if self.wave else "")
        return f"wave {self.wave}" if self.phase == 0 and WAVE in annotations else "no hook"


def phase_of(annotations: Mapping[str, str]) -> Phase | None:
    """Return when a first install creates an object; None if only other events do, such as an upgrade."""
    if _ARGOCD in annotations:
        phases = [_PHASES[word] for word in _words(annotations[_ARGOCD]) if word in _PHASES]
        return Phase(min(phases), sync_wave(annotations)) if phases else None
    if _HELM in annotations:
        hooks = _words(annotations[_HELM])
        phase = -1 if "pre-install" in hooks else 1 if "post-install" in hooks else None
        return None if phase is None else Phase(phase, go_int(annotations.get(_WEIGHT, "0")) or 0)
    return Phase(0, sync_wave(annotations))


def hook_beside(annotations: Mapping[str, str]) -> str:
    """Return the first of its hooks that runs beside a release that is already there; empty if none does.

    All do but those that only a first install, a deletion or a test runs.
    """
    if _ARGOCD in annotations:
        return next((word for word in _words(annotations[_ARGOCD]) if word in _PHASES), "")
    beside = ("pre-upgrade", "post-upgrade", "post-install", "pre-rollback", "post-rollback")
    return next((word for word in _words(annotations.get(_HELM, "")) if word in beside), "")


def is_hook(annotations: Mapping[str, str]) -> bool:
    """Return whether a tool creates an object for an event: it is no lasting part of the release."""
    return _HELM in annotations or _ARGOCD in annotations


def waits(kind: str, annotations: Mapping[str, str]) -> bool:
    """Return whether the tool waits for an object of a phase: until a Job has ended, or a Deployment is healthy.

    Argo CD waits in every wave; Helm for the Jobs and Pods among hooks. A CronJob is healthy at once.
    """
    if kind == "CronJob":
        return False
    is_helms = _HELM in annotations and _ARGOCD not in annotations and WAVE not in annotations
    return kind in ("Job", "Pod") or not is_helms


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]
