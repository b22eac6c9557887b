"""Admission webhooks: who must answer before the API server creates a pod."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.base.partly_compared import Distinct
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.labels import Selector


class Webhook(Struct, frozen=True):
    """One entry of ``webhooks``. Null selectors select everything, as the API server's default does."""

    name: str
    service: tuple[str, str] = ("", "")
    """(namespace, name) of the Service that it calls; empty if it calls a URL."""
    fails_closed: bool = True
    """The API server refuses what it cannot ask about."""
    creates_pods: bool = False
    """It is asked about pods that are created, whatever their fields."""
    namespaces: Selector | None = None
    objects: Selector | None = None
    path: Path = ()


class WebhookConfiguration(Distinct, frozen=True):
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration: ``system`` is its kind."""

    system: str
    name: str
    hooks: tuple[Webhook, ...] = ()
    source: Source | None = None
