"""Texts that a tool or a person fills in before manifests are applied."""

from __future__ import annotations

import re

# ``${NAMESPACE}``, ``${REPLICAS:-1}``, ``$NAME``, ``$(name)``, ``{{ .Values.x }}``, ``<your-node>``.
_PLACEHOLDER = r"\$\{[^{}]*\}?|\$\([^()]*\)?|\$[A-Za-z_]\w*|\{\{(?:.*?\}\}|.*)|\{%(?:.*?%\}|.*)|\(\$|<\w[\w .:/-]*>"
# A name that a person fills in: ``your-node-name``, ``NODE_NAME``, ``changeme``.
_TO_FILL_IN = (
    r"(?i:(?<![a-z0-9])(?:your|(?:change|replace)[-_]?me|placeholder|todo|fixme|x{3,})(?![a-z0-9]))"
    r"|\b[A-Z0-9_]*NAME\b"
)


def placeholder(text: str) -> str | None:
    """Return the first placeholder that a tool or a person fills in before applying; None if there is none."""
    match = re.search(_PLACEHOLDER, text)
    if match is None or (match[0][0] == "<" and "</" in text):
        return None  # an HTML tag has a closing tag, a placeholder has none
    return match[0]


def to_fill_in(text: str) -> str | None:
    """Return the part of a name that a tool or a person fills in before applying; None if there is none."""
    return placeholder(text) or (text if re.search(_TO_FILL_IN, text) else None)
