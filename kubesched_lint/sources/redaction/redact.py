"""Replace names by pseudonyms, word by word, so that names built from other names still match.

A StatefulSet's pod is its name and a number, a ReplicaSet its Deployment's name and a hash, a claim its template's name
and its pod's; owners, selectors and the scheduler compare such names. Each word (the text between ``-``, ``.``, ``/``…)
has one pseudonym in all names, and no two words share one, so equality is preserved. ``open_words`` lists the words
that stay; every other string becomes pseudonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from kubesched_lint.engine.cluster.pods.pod_scheduled import redacted
from kubesched_lint.engine.model.devices.devices import SEMVER
from kubesched_lint.sources.redaction.open_words import (
    BARE_KEYS,
    DRIVERS,
    PLAIN_WORDS,
    domain_parts,
    is_amount,
    is_open_count,
    is_open_field,
    is_open_name,
    is_open_resource,
    is_open_value,
    open_version,
)
from kubesched_lint.sources.redaction.redact_cel import Expressions

_WORD = re.compile(r"[A-Za-z0-9\u0080-\U0010ffff]+")
_SHORT = re.compile(r"[0-9]{1,4}|[0-9]{1,2}[a-z]")
"""Ordinals, and the ends of zones: eu-west-1a and eu-west-1b stay two zones of one region."""
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_ADDRESS = re.compile(r"(?:[0-9]{1,3}[.-]){3}[0-9]{1,3}(?![0-9])|[0-9a-fA-F]*(?::[0-9a-fA-F]*){2,}")
_ALL_ADDRESSES = ("0.0.0.0", "::")
_AMOUNTS = frozenset(
    [
        *("requests", "limits", "allocatable", "capacity", "overhead", "podFixed", "hard", "used", "max", "min"),
        *("default", "defaultRequest", "resources", "maxLimitRequestRatio", "minAllowed", "maxAllowed", "target"),
        *("systemReserved", "kubeReserved", "evictionHard", "allocatedResources"),
    ]
)
_OF_DEVICES = frozenset(["attributes", "counters", "consumedCapacity"])
"""Maps whose keys are names of attributes, of counters or of capacities."""
_LABELS = frozenset(["labels", "matchLabels", "nodeSelector", "selector"])
_KEYS = frozenset(["topologyKey", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys", "finalizers"])
_CLASS_QUOTAS = (
    ".storageclass.storage.k8s.io/",
    ".volumeattributesclass.storage.k8s.io/",
    ".deviceclass.resource.k8s.io/",
)
_QUOTA_PREFIXES = ("requests.", "limits.")
_ATTACHABLE = "attachable-volumes-"


class Redactor:
    """The pseudonyms of one capture, or of several with one ``secret`` (1 to 64 bytes).

    Anyone with the secret can test guesses of names.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._words: dict[str, str] = {}
        self._taken: set[str] = set(PLAIN_WORDS)
        self._selectors = Expressions(self._driver)

    def notice(self, item: Any) -> None:
        """Read the selectors of devices in an object: before the first is redacted, all must be known."""
        for key, value in item.items() if isinstance(item, dict) else enumerate(item):
            if key == "expression":
                self._selectors.notice(value)
            elif isinstance(value, (dict, list)):
                self.notice(value)

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return a trimmed object of the API with its names replaced."""
        if "deviceClassName" in item and "capacity" in item:
            wanted = {self._qualified(k): self._amount(v) for k, v in item["capacity"].get("requests", {}).items()}
            rest = {key: value for key, value in item.items() if key != "capacity"}
            return {**self.item(rest), "capacity": {"requests": wanted}}
        return {key: self._field(key, value) for key, value in item.items()}

    def name(self, text: str) -> str:
        """Return a name made of its words' pseudonyms; equal for equal texts only. A number stays."""
        if _NUMBER.fullmatch(text) or text in _ALL_ADDRESSES:
            return text
        if _ADDRESS.search(text):
            # The numbers of an address are not ordinals.
            return _WORD.sub(lambda match: self._word(match[0]), text)
        return _WORD.sub(lambda match: self._part(match[0]), text)

    def label_key(self, key: str) -> str:
        """Return the key of a label or resource; keys of Kubernetes and of clouds stay, others become pseudonyms."""
        domain, slash, name = key.rpartition("/")
        if not slash:
            return key if key in BARE_KEYS else self.name(key)
        own, known = domain_parts(domain)
        kept = (not own and is_open_name(known, name)) or name == "agent-not-ready"
        return f"{self.name(own)}{known}/{name if kept else self.name(name)}"

    def label_value(self, key: str, value: str) -> str:
        return value if is_open_value(key, value) else self.name(value)

    def resource(self, name: str) -> str:
        """Return the redacted name of a resource, as amounts and quotas use it."""
        for between in _CLASS_QUOTAS:
            of, separator, rest = name.partition(between)
            if separator:
                return f"{self.name(of)}{between}{rest if is_open_name(between[1:-1], rest) else self.name(rest)}"
        if name.startswith("count/"):
            return f"count/{rest if is_open_count(rest := name[6:]) else self.name(rest)}"
        if name.startswith(_ATTACHABLE):
            return _ATTACHABLE + self.name(name.removeprefix(_ATTACHABLE))
        prefix = next((p for p in _QUOTA_PREFIXES if name.startswith(p)), "")
        rest = name[len(prefix) :]
        if "/" in rest:
            return prefix + self.label_key(rest)
        return prefix + (rest if is_open_resource(rest) else self.name(rest))

    def _part(self, word: str) -> str:
        return word if word in PLAIN_WORDS or _SHORT.fullmatch(word) else self._word(word)

    def _word(self, word: str) -> str:
        pseudonym = self._words.get(word)
        if pseudonym is None:
            pseudonym = self._words[word] = self._free(word)
            self._taken.add(pseudonym)
        return pseudonym

    def _free(self, word: str) -> str:
        """Return seven letters of a keyed hash; more in the rare case that another word has the same."""
        number = int.from_bytes(blake2b(word.encode(), key=self._secret, digest_size=32).digest())
        letters = ""
        while len(letters) < 7 or letters in self._taken:
            number, letter = divmod(number, 26)
            letters += chr(97 + letter)
        return letters

    def _field(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(key, value)
        if isinstance(value, list):
            return [self._object(key, item) if isinstance(item, dict) else self._field(key, item) for item in value]
        if not isinstance(value, str) or is_open_field(key, value):
            return value
        if key in _KEYS or key == "extendedResourceName":
            return self.label_key(value)
        if key == "expression":
            return self._selectors.redacted(value)
        if key == "message":
            return redacted(value, self.resource, self.name)
        if key in ("matchAttribute", "distinctAttribute"):
            return self._qualified(value)
        if key in ("provisioner", "attacher", "driver", "name"):  # a CSIDriver has the name of its driver
            return self._driver(value)
        return open_version(value) if key == "kubeletVersion" else self.name(value)

    def _mapping(self, key: str, value: dict[str, Any]) -> dict[str, Any]:
        """Return a redacted mapping: an object of the API, or labels and amounts, whose keys users choose."""
        plain = not any(isinstance(inner, (dict, list)) for inner in value.values())
        if plain and key in _AMOUNTS:
            return {self.resource(name): self._amount(amount) for name, amount in value.items()}
        if plain and key in _LABELS:
            return {self.label_key(k): self.label_value(k, v) for k, v in value.items()}
        if key in _OF_DEVICES or (key == "capacity" and not plain):
            of = self._attribute if key == "attributes" else self._amounts
            return {self._qualified(name): of(name, inner) for name, inner in value.items()}
        if key == "annotations":
            return {k: self._plugins(v) if k.endswith("/migrated-plugins") else self.name(v) for k, v in value.items()}
        return self._object(key, value)

    def _object(self, key: str, value: dict[str, Any]) -> dict[str, Any]:
        if "key" in value:
            return self._keyed(value)
        return self.item(value)

    def _keyed(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a redacted expression, taint or toleration: its key decides how its values are redacted."""
        key = value["key"]
        of: dict[str, Callable[[Any], Any]] = {
            "key": self.label_key,
            "value": lambda part: self.label_value(key, part),
            "values": lambda part: [self.label_value(key, text) for text in part],
        }
        return {n: of[n](part) if n in of else self._field(n, part) for n, part in value.items()}

    def _qualified(self, name: str) -> str:
        """Return the redacted name of an attribute, a capacity or a counter; its domain is the name of a driver."""
        domain, slash, rest = name.rpartition("/")
        return f"{self._driver(domain)}{slash}{self.name(rest)}"

    def _attribute(self, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        if self._selectors.stays(name):
            return dict(value)
        return {kind: self._value_of_attribute(kind, part) for kind, part in value.items()}

    def _value_of_attribute(self, kind: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value_of_attribute(kind.removesuffix("s"), each) for each in value]
        if kind == "version" and SEMVER.fullmatch(value):
            return _WORD.sub(lambda match: match[0] if match[0].isdigit() else self._part(match[0]), value)
        return self._driver(value) if isinstance(value, str) else value

    def _amounts(self, name: str, value: Any) -> Any:
        """Return the amount of a capacity or of a counter, with its policy."""
        if isinstance(value, dict):
            return {key: self._amounts(key, inner) for key, inner in value.items()}
        return [self._amount(each) for each in value] if isinstance(value, list) else self._amount(value)

    def _amount(self, amount: Any) -> Any:
        return amount if not isinstance(amount, str) or is_amount(amount) else self.name(amount)

    def _plugins(self, text: str) -> str:
        return ",".join(map(self._driver, text.split(",")))

    def _driver(self, name: str) -> str:
        return name if name in DRIVERS else self.name(name)
