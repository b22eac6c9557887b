"""Rules for names, labels, port names and addresses: each function returns its complaints, none for a valid text.

Mirrors ``k8s.io/apimachinery/pkg/util/validation`` and ``pkg/api/validate/content`` (v1.36). Upstream counts bytes; its
older half calls them characters. IP addresses and CIDRs mirror ``IsValidIPForLegacyField`` and
``IsValidCIDRForLegacyField`` of ``validation/ip.go`` with the gate StrictIPCIDRValidation off: refused is only what
every server refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from kubesched_lint.engine.apiserver.values.causes import Cause, invalid
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import go_int

Complaints = tuple[str, ...]
NameRule = Callable[[str], Complaints]

_NEAR = 512
"""Names that are remembered: an object's name occurs again in itself and in those beside it, and then no more."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"


_ALPHANUMERIC = "must start and end with an alphanumeric character"
_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ALPHANUMERIC}"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"and {_ALPHANUMERIC}"
)
_UNDERSCORE_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    f"and {_ALPHANUMERIC}"
)
_DNS1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ALPHANUMERIC}"
_VALUE_TEXT = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ALPHANUMERIC}"
)
_ENVIRONMENT_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def size(text: str) -> int:
    """Return the length in bytes, like Go's ``len``."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _is_subdomain(name: str) -> bool:
    """Return whether the whole text matches ``_SUBDOMAIN``; compiling the pattern costs more than a file's names."""
    if "." not in name:
        return _is_label(name)
    return _is_label(name.replace(".", "-")) and ".." not in name and ".-" not in name and "-." not in name


def _is_label(text: str) -> bool:
    """Return whether the whole text matches ``_LABEL``."""
    return (
        text.replace("-", "").isalnum()
        and text.isascii()
        and text == text.lower()
        and text[0] != "-"
        and text[-1] != "-"
    )


def _is_key(text: str) -> bool:
    """Return whether the whole text matches ``_KEY``."""
    inside = text.replace("-", "").replace("_", "").replace(".", "")
    return inside.isalnum() and text.isascii() and text[0] not in "-_." and text[-1] not in "-_."


def regex_error(text: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{pattern}')"


@lru_cache(maxsize=_NEAR)
def dns_label(name: str, unit: str = "characters") -> Complaints:
    complaints = []
    if size(name) > 63:
        complaints.append(f"must be no more than 63 {unit}")
    is_subdomain = _is_subdomain(name)
    if not is_subdomain or "." in name:
        text = "must not contain dots" if is_subdomain else regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        complaints.append(text)
    return tuple(complaints)


@lru_cache(maxsize=_NEAR)
def dns_subdomain(name: str, unit: str = "characters") -> Complaints:
    complaints = []
    if size(name) > 253:
        complaints.append(f"must be no more than 253 {unit}")
    if not _is_subdomain(name):
        complaints.append(regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return tuple(complaints)


def dns_subdomain_with_underscore(name: str) -> Complaints:
    complaints = []
    if size(name) > 253:
        complaints.append("must be no more than 253 characters")
    if not re.fullmatch(_SUBDOMAIN_UNDERSCORE, name):
        complaints.append(regex_error(_UNDERSCORE_TEXT, _SUBDOMAIN_UNDERSCORE, "example.com"))
    return tuple(complaints)


def dns1035_label(name: str) -> Complaints:
    complaints = []
    if size(name) > 63:
        complaints.append("must be no more than 63 characters")
    if not re.fullmatch(_DNS1035, name):
        complaints.append(regex_error(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123"))
    return tuple(complaints)


@lru_cache(maxsize=4096)
def label_key(key: str) -> Complaints:
    """Return the complaints of ``IsLabelKey``, which is also ``IsQualifiedName``."""
    parts = key.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_key_error()} {optional}",)
    complaints = []
    if len(parts) == 2:
        if not parts[0]:
            complaints.append("prefix part must be non-empty")
        complaints += [f"prefix part {text}" for text in dns_subdomain(parts[0], "bytes") if parts[0]]
    name = parts[-1]
    if not name:
        complaints.append("name part must be non-empty")
    elif size(name) > 63:
        complaints.append("name part must be no more than 63 bytes")
    if not _is_key(name):
        complaints.append(f"name part {_key_error()}")
    return tuple(complaints)


qualified_name = label_key


def _key_error() -> str:
    return regex_error(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")


@lru_cache(maxsize=_NEAR)
def label_value(value: str) -> Complaints:
    complaints = []
    if size(value) > 63:
        complaints.append("must be no more than 63 bytes")
    if value and not _is_key(value):
        complaints.append(regex_error(_VALUE_TEXT, _VALUE, "MyValue", "my_value", "12345"))
    return tuple(complaints)


def prefix_of(rule: NameRule) -> NameRule:
    """Return the rule for a ``generateName``: it may end with a dash, as a suffix follows (``maskTrailingDash``)."""

    def check(name: str) -> Complaints:
        return rule(f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name)

    return check


def path_segment(name: str, prefix: bool = False) -> Complaints:
    """Return the complaints about a name that would break the object's URL."""
    if not prefix and name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)


@lru_cache(maxsize=1024)
def port_name(name: str) -> Complaints:
    complaints = []
    if size(name) > 15:
        complaints.append("must be no more than 15 characters")
    if not re.fullmatch("[-a-z0-9]+", name):
        complaints.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        complaints.append("must contain at least one letter (a-z)")
    if "--" in name:
        complaints.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        complaints.append("must not begin or end with a hyphen")
    return tuple(complaints)


def port_number(number: int) -> Complaints:
    return () if 1 <= number <= 65535 else (in_range(1, 65535),)


def in_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def percent(text: str) -> Complaints:
    if text[-1:] == "%" and text[:-1].isascii() and text[:-1].isdigit():
        return ()
    wanted = "a valid percent string must be a numeric string followed by an ending '%'"
    return (regex_error(wanted, _PERCENT, "1%", "93%"),)


def http_header(name: str) -> Complaints:
    if re.fullmatch(_HEADER, name):
        return ()
    text = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return (regex_error(text, _HEADER, "X-Header-Name"),)


@lru_cache(maxsize=4096)
def environment_name(name: str) -> Complaints:
    """Return the complaints of ``IsRelaxedEnvVarName``: the gate is locked on since 1.34."""
    complaints = []
    if not name:
        complaints.append("environment variable name must be non-empty")
    if not (name.isascii() and name.isprintable()) or "=" in name:
        complaints.append(_ENVIRONMENT_TEXT)
    return tuple(complaints)


@lru_cache(maxsize=1024)
def config_key(name: str) -> Complaints:
    complaints = []
    if size(name) > 253:
        complaints.append("must be no more than 253 characters")
    if not re.fullmatch(_CONFIG_KEY, name):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        complaints.append(regex_error(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if name in (".", ".."):
        complaints.append(f"must not be '{name}'")
    elif name.startswith(".."):
        complaints.append("must not start with '..'")
    return tuple(complaints)


# --- IP addresses and CIDRs in fields that have always been parsed leniently: leading zeros are allowed ---------------


def family(text: str) -> str:
    """Return ``IPv4`` or ``IPv6``; empty if the text is not an address."""
    if ":" not in text:
        parts = text.split(".")
        return "IPv4" if len(parts) == 4 and all(_is_number(part, 255) for part in parts) else ""
    from ipaddress import AddressValueError, IPv6Address  # few manifests have one

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
