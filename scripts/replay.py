"""Replays the histories of public repositories as pull requests, and writes what would have been blocked as JSON lines.

    python scripts/replay.py FOLDER --out replay.jsonl
    python scripts/replay.py FOLDER --only 9c-k8s --out replay.jsonl

FOLDER has a Git clone of each repository of ``fixtures/precision/replay.json``, named ``OWNER+NAME``, with its history.
Of each, the newest commits up to ``tip`` that change a YAML file are replayed, oldest first, along first parents. The
gate is set up once, as its users would at the parent of the oldest commit: a sketch of nodes that these manifests ask
for, and a baseline of what ``lint`` finds there. Then each commit is linted as docs/ci.md says: ``--changed=PARENT``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "fixtures/precision/replay.json"
ZONES = ("zone-a", "zone-b", "zone-c")
_SECONDS = 600
_COMMON = ("cpu", "memory", "ephemeral-storage", "pods")
Value = dict[str, Any]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=folder, capture_output=True, text=True, check=True).stdout


def commits(folder: Path, tip: str, many: int) -> list[str]:
    """The newest commits up to ``tip`` that change a YAML file and have a parent, oldest first."""
    listed = git(folder, "log", f"-{many}", "--first-parent", "--min-parents=1", "--format=%H", tip, "--", "*.y*ml")
    return listed.split()[::-1]


# --- the sketch -------------------------------------------------------------------------------------------------------


def _mappings(value: object) -> Iterator[Value]:
    """Every mapping in a parsed document, also those in the values of charts."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(inner)


def _chosen(pod: Value) -> dict[str, str]:
    """The labels that a mapping with fields of a pod requires of nodes."""
    labels = {k: v for k, v in (_mapping(pod.get("nodeSelector"))).items() if isinstance(v, str)}
    required = _mapping(
        _mapping(_mapping(pod.get("affinity")).get("nodeAffinity")).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
    )
    for term in (required.get("nodeSelectorTerms") or [])[:1]:
        for one in _mapping(term).get("matchExpressions") or []:
            if one.get("operator") in ("In", "Exists"):
                labels[one["key"]] = str((one.get("values") or ["true"])[0])
    return labels


def _mapping(value: object) -> Value:
    return value if isinstance(value, dict) else {}


def _resources(found: Value) -> set[str]:
    """The extended resources that a mapping requests."""
    asked = {**_mapping(found.get("requests")), **_mapping(found.get("limits"))}
    return {name for name in asked if isinstance(name, str) and "/" in name and name not in _COMMON}


def sketch_of(folder: Path) -> Value:
    """A cluster that the manifests of a folder ask for: six plain nodes, and three for each choice of labels."""
    groups: dict[str, Value] = {}
    resources: set[str] = set()
    for file in sorted(folder.rglob("*.y*ml")):
        try:
            documents = list(yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader))
        except (yaml.YAMLError, UnicodeDecodeError, OSError, ValueError):
            continue  # templates of charts, files that are no text
        for found in (one for document in documents for one in _mappings(document)):
            resources |= _resources(found)
            labels = {k: v for k, v in _chosen(found).items() if k != "kubernetes.io/os"}
            tolerated = [t for t in found.get("tolerations") or [] if isinstance(t, dict)] if labels else []
            taints = [f"{t['key']}={t.get('value') or ''}:NoSchedule" for t in tolerated if t.get("key") in labels]
            if labels:
                groups[json.dumps(labels, sort_keys=True)] = {"labels": labels, "taints": sorted(set(taints))}
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", **dict.fromkeys(sorted(resources), "8")}
    nodes: list[Value] = [{"name": "worker", "count": 2, "zones": list(ZONES), "allocatable": amounts}]
    for number, (_, group) in enumerate(sorted(groups.items())):
        nodes.append(_group(number, group, amounts))
    return {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodeGroups": "complete", "nodes": nodes}


def _group(number: int, group: Value, amounts: Value) -> Value:
    labels = dict(group["labels"])
    host, zone = labels.pop("kubernetes.io/hostname", ""), labels.pop("topology.kubernetes.io/zone", "")
    made: Value = {"name": host or f"chosen-{number}", "zones": [zone or ZONES[0]] if host or zone else list(ZONES)}
    if host:
        labels["kubernetes.io/hostname"] = host
    return {**made, "labels": labels, "taints": group["taints"], "allocatable": amounts}


# --- the gate ---------------------------------------------------------------------------------------------------------


class Gate:
    """The linter in a clone, with a sketch and a baseline outside of it."""

    def __init__(self, folder: Path, beside: Path) -> None:
        self._folder = folder
        self._out = beside / "out.json"
        sketch, baseline = beside / "cluster.yaml", beside / "baseline.json"
        sketch.write_text(json.dumps(sketch_of(folder), indent=1))
        cluster = ["-c", str(sketch)]
        self.adopted = self._called("lint", ".", *cluster)
        self._called("baseline", "write", ".", *cluster, "-o", str(baseline), report=False)
        self._known = ["--baseline", str(baseline)] if baseline.exists() else []
        self._cluster = cluster

    def judge(self, parent: str) -> Value:
        """What the check of a pull request says of the files as they are checked out."""
        return self._called("lint", ".", *self._cluster, *self._known, f"--changed={parent}")

    def _called(self, *arguments: str, report: bool = True) -> Value:
        self._out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "kubesched_lint", *arguments]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        more = ["--format", f"json={self._out}"] if report else []
        done = subprocess.run(
            [*command, *more], cwd=self._folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        found = json.loads(self._out.read_text()) if self._out.exists() else {}
        return {"exitCode": done.returncode, "seconds": round(used, 1), "report": found, "said": done.stderr[-500:]}


def _line(repository: str, commit: str, answer: Value) -> Value:
    report = answer["report"]
    counted = [f for f in report.get("findings", []) if f["severity"] == "error" and not f.get("suppressed")]
    errors = [{k: f.get(k) for k in ("rule", "object", "location", "message")} for f in counted]
    return {
        "repository": repository,
        "commit": commit,
        "exitCode": answer["exitCode"],
        "errors": errors,
        "unread": report.get("errors", []) if report else answer["said"],
        "workloads": report.get("summary", {}).get("workloads"),
        "seconds": answer["seconds"],
    }


def replayed(clone: Path, row: Value) -> Iterator[Value]:
    """One line for the day of adoption, and one for each commit."""
    chosen = commits(clone, row["tip"], row["commits"])
    with TemporaryDirectory() as scratch:
        work = Path(scratch, "clone")
        git(clone, "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(work))
        os.environ["KUBESCHED_LINT_CACHE_DIR"] = str(Path(scratch, "cache"))
        git(work, "checkout", "--quiet", "--force", f"{chosen[0]}^")
        gate = Gate(work, Path(scratch))
        yield {**_line(row["repository"], "", gate.adopted), "adopted": git(work, "rev-parse", "HEAD").strip()}
        for commit in chosen:
            git(work, "checkout", "--quiet", "--force", commit)
            yield _line(row["repository"], commit, gate.judge(f"{commit}^"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="part of a repository's name")
    options = parser.parse_args()
    with options.out.open("a") as out:
        for row in json.loads(LISTED.read_text()):
            if options.only in row["repository"]:
                for line in replayed(options.folder / row["repository"].replace("/", "+"), row):
                    print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main()
