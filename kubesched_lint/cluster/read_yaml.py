"""A cluster from YAML."""

from __future__ import annotations

import yaml

from kubesched_lint.cluster.cluster import ClusterError
from kubesched_lint.cluster.collect import Collector
from kubesched_lint.cluster.containers import explained, read_plain
from kubesched_lint.model.decode.fields import DecodeError


def read_yaml(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Which of ``sketch`` and ``snapshot`` were met. Raises ClusterError."""
    try:
        found = [d for d in yaml.load_all(data, yaml.CSafeLoader) if d is not None]
    except yaml.YAMLError as error:
        raise ClusterError(name, 0, 0, f"is not valid YAML: {error}") from None
    met = set()
    for document in found:
        try:
            met.add(read_plain(document, collector))
        except DecodeError as error:
            raise ClusterError(name, 0, 0, explained(document, error).message) from None
    return frozenset(met)
