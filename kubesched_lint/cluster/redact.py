"""Names become pseudonyms, word by word, so that names built from names still are.

A StatefulSet's pod is its name and a number, a ReplicaSet its Deployment's name and a hash, a claim its template's
name and its pod's; owners, selectors and the scheduler compare such names. Each word (what stands between ``-``, ``.``,
``/``…) has one pseudonym, whichever name it stands in, and no two words share one: what was equal stays equal, what
differed still differs. Only fields that are known to hold vocabulary of the API or amounts are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Za-z0-9]+")
_SHORT = re.compile(r"[0-9]{1,4}|[0-9]{1,2}[a-z]")
"""Ordinals, and the ends of zones: eu-west-1a and eu-west-1b stay two zones of one region."""
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_ADDRESS = re.compile(r"(?:[0-9]{1,3}[.-]){3}[0-9]{1,3}(?![0-9])|[0-9a-fA-F]*(?::[0-9a-fA-F]*){2,}")
# Words of Kubernetes' own names (kube-system, system-node-critical, default-scheduler) say nothing about anybody.
_PLAIN_WORDS = _set(
    "default kube system public node lease cluster critical scheduler pvc latest true false yes no on off"
)
_KNOWN_DOMAINS = (
    *("kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws", "karpenter.azure.com", "karpenter.k8s.gcp"),
    *("amazonaws.com", "aws.com", "azure.com", "google.com", "storage.gke.io", "ibm.com", "openstack.org"),
    *("nvidia.com", "amd.com", "intel.com", "openshift.io", "x-k8s.io", "oraclecloud.com", "digitalocean.com"),
    *("kops.k8s.io", "eksctl.io", "linode.com", "scaleway.com", "vultr.com", "alibabacloud.com", "gardener.cloud"),
    *("csi.aws.com", "helm.sh"),
)
_KNOWN_KEYS = _set(
    "agentpool app component tier role name env environment version release chart heritage app-name k8s-app "
    "pod-template-hash controller-revision-hash pod-template-generation job-name controller-uid metadata.name"
)
# Whose values are not names: one of few words, or what a cloud sells.
_OPEN_VALUES = re.compile(
    r"(?:beta\.)?kubernetes\.io/(?:os|arch)|(?:node|beta)\.kubernetes\.io/instance-type|"
    r"karpenter\.sh/capacity-type|karpenter\.k8s\.aws/instance-.*|eks\.amazonaws\.com/(?:compute-type|capacityType)|"
    r"node\.kubernetes\.io/windows-build|nvidia\.com/gpu\..*|pod-security\.kubernetes\.io/.*|node-role\.kubernetes\.io/.*"
)
# Fields of the trimmed items that hold the API's vocabulary, times or amounts.
_OPEN_FIELDS = _set(
    "apiVersion kind operator effect whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy restartPolicy action "
    "phase type status creationTimestamp deletionTimestamp startTime protocol preemptionPolicy accessModes "
    "volumeMode volumeBindingMode podManagementPolicy maxSurge maxUnavailable minAvailable "
    "unhealthyPodEvictionPolicy scopes declaredFeatures capacity maximumVolumeSize group amiFamily imageFamily "
    "instanceStorePolicy scopeName"
)
_AMOUNTS = _set(
    "requests limits allocatable capacity overhead podFixed hard used max min default defaultRequest resources "
    "maxLimitRequestRatio systemReserved kubeReserved evictionHard"
)
_LABELS = frozenset(["labels", "matchLabels", "nodeSelector", "selector"])
_KEYS = frozenset(["topologyKey", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys", "finalizers"])


class Redactor:
    """Pseudonyms of one capture, or of several with one ``secret`` (1 to 64 bytes): who has it can try out names."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._words: dict[str, str] = {}
        self._taken: set[str] = set(_PLAIN_WORDS)

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """A trimmed object of the API without the names it has."""
        return {key: self._field(key, value) for key, value in item.items()}

    def name(self, text: str) -> str:
        """Equal for equal texts, different for different ones, and made of its words' pseudonyms; a number stays."""
        if _NUMBER.fullmatch(text):
            return text
        if _ADDRESS.search(text):
            # The numbers of an address are not ordinals.
            return _WORD.sub(lambda found: self._word(found[0]), text)
        return _WORD.sub(lambda found: self._part(found[0]), text)

    def label_key(self, key: str) -> str:
        """Keys and resources of Kubernetes and of clouds stay; others become pseudonyms."""
        domain, slash, name = key.rpartition("/")
        if not slash:
            return key if key in _KNOWN_KEYS else self.name(key)
        return key if _is_known(domain) else f"{self.name(domain)}/{self.name(name)}"

    def label_value(self, key: str, value: str) -> str:
        return value if _OPEN_VALUES.fullmatch(key) else self.name(value)

    def resource(self, name: str) -> str:
        """The name of a resource, as amounts and quotas have it."""
        storage_class, dot, rest = name.partition(".storageclass.storage.k8s.io/")
        if dot:
            return f"{self.name(storage_class)}{dot}{rest}"
        prefix = next((p for p in ("requests.", "limits.", "count/") if name.startswith(p)), "")
        rest = name[len(prefix) :]
        return prefix + (self.label_key(rest) if "/" in rest else rest)

    def _part(self, word: str) -> str:
        return word if word in _PLAIN_WORDS or _SHORT.fullmatch(word) else self._word(word)

    def _word(self, word: str) -> str:
        found = self._words.get(word)
        if found is None:
            found = self._words[word] = self._free(word)
            self._taken.add(found)
        return found

    def _free(self, word: str) -> str:
        """Seven letters of a keyed hash; more in the rare case that another word has them."""
        from hashlib import blake2b

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
            return [self._field(key, item) for item in value]
        if not isinstance(value, str) or key in _OPEN_FIELDS:
            return value
        if key in _KEYS or key == "extendedResourceName":
            return self.label_key(value)
        if key in ("provisioner", "attacher", "driver"):
            return self._driver(value)
        return self.name(value)

    def _mapping(self, key: str, value: dict[str, Any]) -> dict[str, Any]:
        if key in _AMOUNTS and not any(isinstance(inner, (dict, list)) for inner in value.values()):
            return {self.resource(name): amount for name, amount in value.items()}
        if key in _LABELS and not {"matchLabels", "matchExpressions"} & value.keys():
            return {self.label_key(k): self.label_value(k, v) for k, v in value.items()}
        if key == "annotations":
            return {k: v if k.endswith("/migrated-plugins") else self.name(v) for k, v in value.items()}
        if key == "drivers":
            return {**self.item(value), "name": self._driver(value.get("name", ""))}
        if "key" in value:
            return self._keyed(value)
        return self.item(value)

    def _keyed(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An expression, a taint or a toleration: what its value means, its key says."""
        key = value["key"]
        of: dict[str, Callable[[Any], Any]] = {
            "key": self.label_key,
            "value": lambda found: self.label_value(key, found),
            "values": lambda found: [self.label_value(key, one) for one in found],
        }
        return {name: of.get(name, lambda found: found)(found) for name, found in value.items()}

    def _driver(self, name: str) -> str:
        return name if _is_known(name) or name.startswith("kubernetes.io/") else self.name(name)


def _is_known(domain: str) -> bool:
    return any(domain == known or domain.endswith(f".{known}") for known in _KNOWN_DOMAINS)
