"""IP addresses and CIDRs in fields that have always been parsed leniently: leading zeros are allowed.

Mirrors ``IsValidIPForLegacyField`` and ``IsValidCIDRForLegacyField`` of
``k8s.io/apimachinery/pkg/util/validation/ip.go`` (v1.36) with the gate StrictIPCIDRValidation off: refused is only what
every server refuses.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Path
from kubesched_lint.model.labels import go_int
from kubesched_lint.validation.causes import Cause, invalid


def family(text: str) -> str:
    """Return ``IPv4`` or ``IPv6``; empty if the text is not an address."""
    if ":" not in text:
        parts = text.split(".")
        return "IPv4" if len(parts) == 4 and all(_is_number(part, 255) for part in parts) else ""
    from ipaddress import AddressValueError, IPv6Address

    try:
        address = IPv6Address(text)
    except AddressValueError:
        return ""
    return "" if address.scope_id is not None else "IPv4" if address.ipv4_mapped else "IPv6"


def ip_address(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if not family(text):
        yield invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)", field=field)


def _is_number(text: str, most: int) -> bool:
    number = go_int(text) if text.isdigit() else None
    return number is not None and number <= most


def cidr(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    address, slash, length = text.partition("/")
    kind = family(address)
    if not (kind and slash and _is_number(length, 32 if kind == "IPv4" else 128)):
        yield invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)", field=field)
