"""A cluster from YAML."""

from __future__ import annotations

import yaml

from kubesched_lint.cluster.cluster import ClusterError
from kubesched_lint.cluster.collect import Collector
from kubesched_lint.cluster.containers import read_plain
from kubesched_lint.model.decode.fields import DecodeError


def read_yaml(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Which of ``sketch`` and ``snapshot`` were met. Raises ClusterError."""
    try:
        found = [d for d in yaml.load_all(data, yaml.CSafeLoader) if d is not None]
    except yaml.YAMLError as error:
        raise ClusterError(name, 0, 0, f"is not valid YAML: {error}") from None
    try:
        return frozenset(read_plain(d, collector) for d in found)
    except DecodeError as error:
        raise ClusterError(name, 0, 0, error.message) from None
