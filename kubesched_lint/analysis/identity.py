"""By which labels people tell one application from another, and one release of it from the next."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.model.labels import Labels, Selector

# In the order in which one would add them to a selector that is too broad.
_TELLING = (
    "app.kubernetes.io/instance",
    "release",
    "app.kubernetes.io/component",
    "component",
    "role",
    "app.kubernetes.io/name",
    "app",
    "k8s-app",
    "name",
)
_SHARED = ("app.kubernetes.io/part-of", "app.kubernetes.io/managed-by", "helm.sh/chart", "chart", "heritage")


def names_an_application(selector: Selector) -> bool:
    """Whether every condition is about who a pod is: then it was written for one application.

    A condition on any other label (a tier, a tenant, a hazard) may well mean several.
    """
    known = (*_TELLING, *_SHARED)
    return bool(selector.requirements) and all(r.key in known and r.operator == "In" for r in selector.requirements)


def telling_label(labels: Labels, others: Iterable[Labels], selector: Selector) -> str:
    """A label that none of ``others`` shares with a pod and that the selector does not look at; empty without one."""
    asked = {r.key for r in selector.requirements}
    others = list(others)
    for key in _TELLING:
        if key in labels and key not in asked and all(o.get(key) != labels[key] for o in others):
            return key
    return ""
