"""The ClusterRole that ``check --rbac`` prints allows what is asked for, and nothing else."""

from __future__ import annotations

from pathlib import Path

import yaml

from kubesched_lint.sources.capture.devices import ClaimAnnotations
from kubesched_lint.sources.capture.gates import PATH
from kubesched_lint.sources.capture.parts import Annotations
from kubesched_lint.sources.capture.resources import RESOURCES
from kubesched_lint.sources.capture.role import cluster_role

DOCUMENT = (Path(__file__).parents[2] / "docs" / "snapshot.md").read_text()


def test_the_printed_role_is_what_is_needed() -> None:
    role = yaml.safe_load(cluster_role("kubesched-lint"))
    lists = [rule for rule in role["rules"] if "resources" in rule]
    allowed = [(group, plural) for rule in lists for group in rule["apiGroups"] for plural in rule["resources"]]
    assert sorted(allowed) == sorted((resource.group, resource.plural) for resource in RESOURCES)
    assert {verb for rule in lists for verb in rule["verbs"]} == {"list"}
    others = [rule for rule in role["rules"] if rule not in lists]
    assert others == [{"nonResourceURLs": [PATH], "verbs": ["get"]}]


def test_every_annotation_that_is_kept_is_named() -> None:
    for name in (*Annotations.__struct_encode_fields__, *ClaimAnnotations.__struct_encode_fields__):
        assert f"`{name}`" in DOCUMENT or "beta" in name, name
