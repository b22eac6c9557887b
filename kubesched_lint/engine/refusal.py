"""The API server's refusal of a pod in its own words, where our validator is there to give it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kubesched_lint.scheduler.replay import Refuse


def refusal_of_pods() -> Refuse | None:
    """None while there is no validator: then rejected pods are counted as skipped."""
    if find_spec("kubesched_lint.validation") is None or find_spec("kubesched_lint.validation.pods") is None:
        return None
    causes_of = import_module("kubesched_lint.validation.pods").pod

    def refuse(pod: Mapping[str, Any]) -> str:
        causes = list(dict.fromkeys(map(str, causes_of(pod))))
        if not causes:
            return ""
        text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
        return f'Pod "{pod["metadata"].get("name", "")}" is invalid: {text}'

    return refuse
