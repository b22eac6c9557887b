"""The part of a configuration that decides where pods run: what a snapshot or a sketch keeps of it.

Clients, certificates, credentials in URLs and the arguments of other people's plugins are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesched_lint.engine.cluster.profiles.plugins import OWN
from kubesched_lint.engine.cluster.profiles.read import READ_ARGUMENTS
from kubesched_lint.sources.redaction.redact import Redactor

Value = Mapping[str, Any]

_KEPT = ("apiVersion", "kind", "percentageOfNodesToScore")
_OF_PROFILE = ("schedulerName", "percentageOfNodesToScore", "plugins")


def kept_of(configuration: Value) -> dict[str, Any]:
    """Return a decoded configuration without what decides nothing."""
    profiles = [dict(_profile(profile)) for profile in configuration.get("profiles", ())]
    extenders = [dict(_extender(extender)) for extender in configuration.get("extenders", ())]
    return {
        **_only(configuration, _KEPT),
        **({"profiles": profiles} if profiles else {}),
        **({"extenders": extenders} if extenders else {}),
    }


def _only(value: Value, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value}


def _profile(profile: Value) -> Iterator[tuple[str, Any]]:
    yield from _only(profile, _OF_PROFILE).items()
    entries = [entry for entry in profile.get("pluginConfig", ()) if entry.get("name") in READ_ARGUMENTS]
    if entries:
        yield "pluginConfig", entries


def _extender(extender: Value) -> Iterator[tuple[str, Any]]:
    scheme, separator, rest = extender.get("urlPrefix", "").rpartition("://")
    yield "urlPrefix", f"{scheme}{separator}{rest.rpartition('@')[2]}"
    yield from _only(extender, ("managedResources",)).items()


# --- under pseudonyms -----------------------------------------------------------------------------------------------


def redacted(configuration: Value, redactor: Redactor) -> dict[str, Any]:
    """Return what ``kept_of`` gives with the pseudonyms that pods, nodes and resources have."""
    return {
        **_only(configuration, _KEPT),
        "profiles": [_hidden_profile(profile, redactor) for profile in configuration.get("profiles", ())],
        "extenders": [_hidden_extender(extender, redactor) for extender in configuration.get("extenders", ())],
    }


def _hidden_profile(profile: Value, redactor: Redactor) -> dict[str, Any]:
    plugins = profile.get("plugins", {})
    entries = profile.get("pluginConfig", ())
    return {
        **redactor.item(_only(profile, ("schedulerName", "percentageOfNodesToScore"))),
        "plugins": {point: _hidden_set(chosen, redactor) for point, chosen in plugins.items()},
        "pluginConfig": [
            {"name": e["name"], "args": dict(_hidden_arguments(e.get("args", {}), redactor))} for e in entries
        ],
    }


def _hidden_set(chosen: Value, redactor: Redactor) -> dict[str, Any]:
    def hidden(plugin: Value) -> dict[str, Any]:
        name = plugin.get("name", "")
        return {**plugin, "name": name if name in OWN else redactor.name(name)}

    return {how: [hidden(plugin) for plugin in plugins] for how, plugins in chosen.items()}


def _hidden_arguments(args: Value, redactor: Redactor) -> Iterator[tuple[str, Any]]:
    for name, value in args.items():
        match name:
            case "apiVersion" | "kind" | "defaultingType":
                yield name, value
            case "ignoredResources":
                yield name, [redactor.resource(resource) for resource in value]
            case "ignoredResourceGroups":
                yield name, [redactor.resource(f"{group}/x").rpartition("/")[0] for group in value]
            case "resources":
                yield name, _hidden_resources(value, redactor)
            case "scoringStrategy":
                yield name, {**value, "resources": _hidden_resources(value.get("resources", ()), redactor)}
            case _:
                yield from redactor.item({name: value}).items()


def _hidden_resources(resources: Sequence[Value], redactor: Redactor) -> list[dict[str, Any]]:
    return [{**spec, "name": redactor.resource(spec.get("name", ""))} for spec in resources]


def _hidden_extender(extender: Value, redactor: Redactor) -> dict[str, Any]:
    managed = _hidden_resources(extender.get("managedResources", ()), redactor)
    return {"urlPrefix": redactor.name(extender["urlPrefix"]), "managedResources": managed}
