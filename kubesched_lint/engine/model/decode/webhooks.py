"""Decode the configurations of admission webhooks."""

from __future__ import annotations

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.decode.fields import Value, items, mapping, selector, text, texts
from kubesched_lint.engine.model.webhooks import Webhook, WebhookConfiguration

_PODS = ({"", "*"}, {"pods", "*", "*/*"}, {"CREATE", "*"})
_FIELDS = ("apiGroups", "resources", "operations")


def decode_webhooks(value: Value, source: Source | None) -> WebhookConfiguration:
    """Return the webhooks of a configuration. Raises DecodeError."""
    name = text(mapping(value, "metadata", ()), "name", ("metadata",))
    hooks = tuple(_webhook(entry, webhook_path) for entry, webhook_path in items(value, "webhooks", ()))
    return WebhookConfiguration(str(value.get("kind")), name, hooks, source)


def _webhook(entry: Value, path: Path) -> Webhook:
    client = mapping(entry, "clientConfig", path)
    at = (*path, "clientConfig", "service")
    service = mapping(client, "service", at[:-1])
    about_pods = any(
        all(not some.isdisjoint(texts(rule, field, where)) for field, some in zip(_FIELDS, _PODS, strict=True))
        for rule, where in items(entry, "rules", path)
    )
    return Webhook(
        name=text(entry, "name", path),
        service=(text(service, "namespace", at), text(service, "name", at)),
        fails_closed=text(entry, "failurePolicy", path, "Fail") == "Fail",
        creates_pods=about_pods and not any(True for _ in items(entry, "matchConditions", path)),
        namespaces=selector(entry, "namespaceSelector", path),
        objects=selector(entry, "objectSelector", path),
        path=path,
    )
