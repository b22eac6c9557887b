"""A set of Flux with releases is judged as what kubectl and helm themselves print for it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.lock import NAME, Locked, Pinned, text_of
from tests.charts.packing import CHART, TEMPLATE, VALUES, needs_helm, packed
from tests.charts.test_rendered_releases import ADDRESS, SKETCH, SYNC
from tests.program import called

pytestmark = [pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"), needs_helm]

SUB = {
    "Chart.yaml": CHART.format(name="sub", version="0.1.0"),
    "values.yaml": "replicas: 1\nhostPort: 0\n",
    "templates/set.yaml": (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: sub}\nspec:\n  selector: {matchLabels: {app: sub}}\n"
        "  template:\n    metadata: {labels: {app: sub}}\n    spec:\n      containers:\n"
        '      - {name: a, image: x, resources: {requests: {cpu: {{ .Values.cpu | default "50m" }}, memory: 1Mi}}}\n'
    ),
}
FILES = {
    "Chart.yaml": CHART.format(name="web", version="1.2.3") + "dependencies: [{name: sub, version: 0.1.0}]\n",
    "values.yaml": VALUES,
    "templates/web.yaml": TEMPLATE,
    "templates/policy.yaml": (
        "{{- if .Values.budget }}\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
        "spec: {minAvailable: {{ .Values.budget }}, selector: {matchLabels: {app: front}}}\n{{- end }}\n"
    ),
    **{f"charts/sub/{name}": text for name, text in SUB.items()},
}


def drawn(draw: random.Random) -> dict[str, Any]:
    """Values of one release: most of them make some pod stay Pending."""
    zone = {"key": "disk", "operator": "In", "values": [draw.choice(["ssd", "hdd"])]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    values: dict[str, Any] = {
        "replicaCount": draw.choice([1, 3, 70]),
        "nodeSelector": draw.choice([{}, {"disk": "ssd"}]),
        "tolerations": draw.choice([[], [{"key": "a", "operator": "Exists"}]]),
        "budget": draw.choice([0, 1, "100%"]),
        "front": {"priorityClassName": draw.choice(["low", "high"]), "affinity": {"nodeAffinity": required}},
        "sub": {"cpu": draw.choice(["10m", "9"])},
    }
    return {key: values[key] for key in draw.sample(sorted(values), draw.randint(1, 5))}


def all_of(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    found = json.loads(done.stdout)
    assert found["errors"] == []
    return sorted((one["rule"], one["severity"], one["message"]) for one in found["findings"])


@pytest.mark.parametrize("seed", range(8))
def test_a_set_is_what_the_programs_print(seed: int, tmp_path: Path) -> None:
    values = drawn(random.Random(seed))
    repository, chart, cache = tmp_path / "repository", tmp_path / "web", tmp_path / "cache"
    for name, text in FILES.items():
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(text)
    (repository / "cluster").mkdir(parents=True)
    (repository / ".git").mkdir()
    cache.mkdir(mode=0o700)
    digest = keep(str(cache / "charts"), packed(FILES))
    (repository / NAME).write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    (repository / "kubesched.toml").write_text('kubernetes-version = "1.34"\n[gitops]\nhelm = "cache"\n')
    (repository / "sketch.yaml").write_text(SKETCH)
    meta = {"namespace": "shop"}
    source = {"kind": "HelmRepository", "name": "charts"}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        {
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "HelmRepository",
            "metadata": {"name": "charts", **meta},
            "spec": {"url": ADDRESS},
        },
        {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "rel", **meta},
            "spec": {
                "chart": {"spec": {"chart": "web", "version": "1.2.3", "sourceRef": source}},
                "values": values,
            },
        },
    ]
    (repository / "cluster" / "gotk-sync.yaml").write_text(SYNC)
    (repository / "cluster" / "release.yaml").write_text(yaml.safe_dump_all(objects))
    environ = {**os.environ, "KUBESCHED_LINT_CACHE_DIR": str(cache)}
    flags = ("--profile", "strict", "--cluster", "sketch.yaml", "--format", "json")
    ours = called("lint", *flags, cwd=repository, environ=environ)

    (tmp_path / "values.json").write_text(json.dumps(values))
    command = ["helm", "template", "rel", str(chart), "-n", "shop", "-f", str(tmp_path / "values.json")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    homes = [one for one in yaml.safe_load_all(printed) if one]
    for one in homes:
        one["metadata"]["namespace"] = "shop"
    (repository / "printed.yaml").write_text(yaml.safe_dump_all([objects[0], *homes]))
    plain = called("lint", "printed.yaml", *flags, cwd=repository, environ=environ)
    assert all_of(ours) == all_of(plain)
    assert json.loads(ours.stdout)["summary"]["releases"]["read"] == 1
