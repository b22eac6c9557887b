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
import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import Any

import yaml

import kubesched_lint
from kubesched_lint.cli import main as main_of_linter

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
        for expression in _mapping(term).get("matchExpressions") or []:
            if expression.get("operator") in ("In", "Exists"):
                labels[expression["key"]] = str((expression.get("values") or ["true"])[0])
    return labels


def _mapping(value: object) -> Value:
    return value if isinstance(value, dict) else {}


def _resources(section: Value) -> set[str]:
    """The extended resources that a mapping requests."""
    asked = {**_mapping(section.get("requests")), **_mapping(section.get("limits"))}
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
        for entry in (mapping_there for document in documents for mapping_there in _mappings(document)):
            resources |= _resources(entry)
            labels = {k: v for k, v in _chosen(entry).items() if k != "kubernetes.io/os"}
            tolerated = [t for t in entry.get("tolerations") or [] if isinstance(t, dict)] if labels else []
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
    """The linter in a clone, with a sketch, a baseline and what it must exclude outside of it."""

    def __init__(self, folder: Path, beside: Path) -> None:
        self._folder, self._out = folder, beside / "out.json"
        sketch, baseline = beside / "cluster.yaml", beside / "baseline.json"
        sketch.write_text(json.dumps(sketch_of(folder), indent=1))
        self._options, self._known = ["-c", str(sketch)], list[str]()
        self.adopted = self._linted()
        if self.adopted["exitCode"] == 2:  # its users would leave out what cannot be read
            unread = {error["path"] for error in self.adopted["report"].get("errors", [])}
            self._options += [f"--exclude={os.path.normpath(path)}" for path in sorted(unread)]
            self.adopted = self._linted()
        self._called("baseline", "write", ".", *self._options, "-o", str(baseline))
        self._known = ["--baseline", str(baseline)] if baseline.exists() else []

    def judge(self, parent: str) -> Value:
        """What the check of a pull request says of the files as they are checked out.

        ``--changed`` can only report what a run without it does, so it is asked only where that is something. Where
        Flux or Argo CD tells what is applied, ``lint .`` judges that, and ``--changed`` would judge all files instead.
        """
        whole = self._linted()
        is_applied = "Argo CD applies was judged" in json.dumps(whole["report"].get("summary", {}))
        return whole if whole["exitCode"] == 0 or is_applied else self._linted(f"--changed={parent}")

    def _linted(self, *more: str) -> Value:
        self._out.unlink(missing_ok=True)
        command = ("lint", ".", *self._options, *self._known, *more)
        code, seconds = self._called(*command, "--format", f"json={self._out}")
        report = json.loads(self._out.read_text()) if self._out.exists() else {}
        return {"exitCode": code, "seconds": round(seconds, 1), "report": report}

    def cells(self) -> Value:
        """How many cells of ``simulate`` have each verdict, for the files as they are checked out."""
        self._called("simulate", ".", *self._options, "--format", "json", output=self._out)
        text = self._out.read_text()
        workloads = json.loads(text)["workloads"] if text else []
        return dict(Counter(cell["verdict"] for workload in workloads for cell in workload["cells"]))

    def _called(self, *arguments: str, output: Path = Path(os.devnull)) -> tuple[int, float]:
        """Run a command line in a fork of this process, which has imported everything; return its code and its CPU."""
        child = os.fork()
        if not child:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 2):
                os.dup2(nothing, stream)
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.chdir(self._folder)
            sys.argv = ["kubesched-lint", *arguments]
            signal.alarm(_SECONDS)
            main_of_linter()
            os._exit(99)
        _, status, used = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def _line(repository: str, commit: str, answer: Value) -> Value:
    report = answer["report"]
    counted = [f for f in report.get("findings", []) if f["severity"] == "error" and not f.get("suppressed")]
    errors = [{k: f.get(k) for k in ("rule", "object", "location", "message")} for f in counted]
    return {
        "repository": repository,
        "commit": commit,
        "exitCode": answer["exitCode"],
        "errors": errors,
        "unread": report.get("errors", []),
        "workloads": report.get("summary", {}).get("workloads"),
        "seconds": answer["seconds"],
    }


def _is_there(work: Path, commit: str) -> bool:
    """Check a commit out; return False if that fails, because a stored copy lacks large files."""
    try:
        git(work, "checkout", "--quiet", "--force", commit)
    except subprocess.CalledProcessError as error:
        print(f"{work.parent.name} {commit}: {error.stderr.strip()[:200]}", file=sys.stderr)
        return False
    return True


def replayed(clone: Path, row: Value) -> Iterator[Value]:
    """One line for the day of adoption, one for each commit, and one with the cells of ``simulate`` at the end."""
    chosen = commits(clone, row["tip"], row["commits"])
    with TemporaryDirectory() as scratch:
        work = Path(scratch, "clone")
        git(clone, "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(work))
        os.environ["KUBESCHED_LINT_CACHE_DIR"] = str(Path(scratch, "cache"))
        while chosen and not _is_there(work, f"{chosen[0]}^"):
            chosen.pop(0)
        if not chosen:
            return
        gate = Gate(work, Path(scratch))
        yield {**_line(row["repository"], "", gate.adopted), "adopted": git(work, "rev-parse", "HEAD").strip()}
        if gate.adopted["exitCode"] == 2:
            return  # a gate that is never green is no gate
        for commit in chosen:
            if not _is_there(work, commit):
                continue
            yield _line(row["repository"], commit, gate.judge(f"{commit}^"))
        yield {"repository": row["repository"], "cells": gate.cells()}


def _import_everything() -> None:
    for module in walk_packages(kubesched_lint.__path__, "kubesched_lint."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an extra that is not installed
                import_module(module.name)
    gc.freeze()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="part of a repository's name")
    options = parser.parse_args()
    _import_everything()
    done = (
        {json.loads(line)["repository"] for line in options.out.read_text().splitlines()}
        if options.out.exists()
        else ()
    )
    with options.out.open("a") as out:
        for row in json.loads(LISTED.read_text()):
            if options.only in row["repository"] and row["repository"] not in done:
                for line in replayed(options.folder / row["repository"].replace("/", "+"), row):
                    print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main()
