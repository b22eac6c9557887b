"""The command lines of ``same_output.py``, and the folder with their inputs.

The inputs come from the checkout of this script, whatever versions it compares: examples of the cards, fixtures,
``examples/shop-repo``, a corpus of 500 files, small worlds of ``tests/worlds`` and the files of a user of 0.1
(``fixtures/compat-0.1``).
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.make_corpus import write as write_corpus  # noqa: E402

GROUPS = ("lint", "fix", "simulate", "why", "rules", "commands", "compat")
FORMATS = ("json", "sarif", "github", "gitlab", "junit", "markdown", "html")
CORPUS_FILES = 500
WORLDS = 120
_SCHEDULED = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod")
_FENCE = re.compile(r"^```yaml([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"(?:^|[ \t]+)#[ \t]*(?:finding|related|also)(?: \(\w+\))?:.*$", re.MULTILINE)
_MANIFESTS = ("seeds", "shop", "wrong-verdicts", "golden/manifests", "hostile", "charts", "manifests")
_CLUSTERS = ("clusters", "pools")
_LARGE = {
    "apiVersion": "kubesched-lint/v1",
    "kind": "ClusterSketch",
    "nodes": [
        {
            "name": name,
            "count": count,
            "zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
            "labels": {"pool": name, "kubernetes.io/arch": arch, "node.kubernetes.io/instance-type": "m6i.2xlarge"},
            "allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"},
        }
        for name, count, arch, cpu in (("general", 12, "amd64", "16"), ("memory", 2, "arm64", "8"))
    ],
}


class Case(NamedTuple):
    """One command line. ``path`` goes before ``sys.path``, relative to ``cwd``, a folder of the inputs."""

    group: str
    key: str
    argv: tuple[str, ...]
    cwd: str = "."
    path: tuple[str, ...] = ()


class Set(NamedTuple):
    """Manifests and their cluster. ``options`` are for lint, ``shared`` also for simulate and why."""

    name: str
    paths: tuple[str, ...]
    cluster: str | None = None
    shared: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("json", "sarif")
    simulated: bool = True
    asked: int = 2
    """Of how many workloads ``why`` is asked."""
    cwd: str = "."


def prepare(folder: Path) -> list[Case]:
    """Fills ``folder`` with the inputs and returns the cases over them, always in the same order."""
    folder.mkdir(parents=True)
    for name in (*_MANIFESTS, *_CLUSTERS):
        shutil.copytree(ROOT / "fixtures" / name, folder / "fixtures" / name)
    shutil.copytree(ROOT / "examples", folder / "examples")
    write_corpus(folder / "corpus", CORPUS_FILES)
    (folder / "large.yaml").write_text(json.dumps(_LARGE))
    sets = [*_cards(folder), *_fixtures(folder), *_worlds(folder), *_corpus()]
    return [case for case_set in sets for case in _of_set(case_set, folder)] + [
        *_rules(),
        *_commands(),
        *_compat(folder),
    ]


def _of_set(case_set: Set, folder: Path) -> Iterator[Case]:
    cluster = ("-c", case_set.cluster) if case_set.cluster else ()
    files = tuple(word for name in case_set.formats for word in ("--format", f"{name}={{out}}/{name}"))
    shown = ("--format", "text", *files, "--color", "never", "--no-cache")
    given = (*case_set.paths, *cluster, *case_set.shared)
    yield Case("lint", f"lint {case_set.name}", ("lint", *given, *case_set.options, *shown), case_set.cwd)
    mended = ("lint", *given, *case_set.options, "--diff", "--unsafe-fixes", "--color", "never", "--no-cache")
    yield Case("fix", f"fix {case_set.name}", mended, case_set.cwd)
    if case_set.cluster is None:
        return
    if case_set.simulated:
        argv = ("simulate", *given, "--format", "json")
        yield Case("simulate", f"simulate {case_set.name}", argv, case_set.cwd)
    names = _named([folder / case_set.cwd / path for path in case_set.paths])
    for number, name in enumerate(islice(names, case_set.asked)):
        form = ("--format", "json") if number % 2 else ("--color", "never")
        yield Case("why", f"why {name} of {case_set.name}", ("why", name, *given, *form), case_set.cwd)


def _named(paths: Sequence[Path]) -> Iterator[str]:
    """The workloads of manifests by kind, namespace and name, if PyYAML can read them; without duplicates."""
    named: set[str] = set()
    for path in paths:
        for file in sorted(path.rglob("*.yaml")) if path.is_dir() else [path]:
            try:
                documents = list(yaml.load_all(file.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
            except (yaml.YAMLError, ValueError):
                continue
            for value in _objects(documents):
                metadata = value.get("metadata")
                if value.get("kind") in _SCHEDULED and isinstance(metadata, dict) and metadata.get("name"):
                    name = f"{value['kind'].lower()}/{metadata.get('namespace', 'default')}/{metadata['name']}"
                    if name not in named:
                        named.add(name)
                        yield name


def _objects(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        if isinstance(value, dict) and isinstance(value.get("items"), list):
            yield from _objects(value["items"])
        elif isinstance(value, dict):
            yield value


def _cards(folder: Path) -> Iterator[Set]:
    """Every runnable fence of every card; read with this script's own expression, as the package may be any version."""
    seen: set[str] = set()
    for card in sorted((ROOT / "rules").glob("*.md")):
        cluster: tuple[str, list[str]] | None = None
        for number, (info, text) in enumerate(_FENCE.findall(card.read_text(encoding="utf-8"))):
            words = info.split()
            text = _MARK.sub("", text)
            if words[:1] == ["fragment"] or not card.stem.islower():
                continue
            if words[:1] == ["cluster"]:
                cluster = (text, words[1:])
                continue
            home = folder / "cards" / card.stem / str(number)
            home.mkdir(parents=True)
            (home / "manifest.yaml").write_text(text, encoding="utf-8")
            beside = None if "no-cluster" in words else cluster
            if beside:
                (home / "cluster.yaml").write_text(beside[0], encoding="utf-8")
            options = [*(beside[1] if beside else ()), *words]
            yield Set(
                f"card {card.stem} {number}",
                ("manifest.yaml",),
                "cluster.yaml" if beside else None,
                tuple(_shared(options)),
                ("--profile", "strict", *_parameters(card.stem, options)),
                ("json", "sarif") if card.stem not in seen else ("json",),  # the log of SARIF parses every card
                cwd=str(home.relative_to(folder)),
            )
            seen.add(card.stem)


def _shared(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        name, _, value = word.partition("=")
        if name in ("apply-order", "kubernetes-version", "namespace"):
            yield from (f"--{name}", value)


def _parameters(slug: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word in ("elastic", "fixed"):
            yield f"--{word}"
        elif word.startswith("param."):
            yield from ("--set", f"{slug}.{word.removeprefix('param.')}")


def _fixtures(folder: Path) -> Iterator[Set]:
    yield from _seeds(folder)
    zones = "fixtures/clusters/three-zones.yaml"
    clusters = [zones, "fixtures/clusters/mixed-pools.yaml", "fixtures/clusters/kubectl-get.json.gz"]
    clusters += sorted(str(f.relative_to(folder)) for f in (folder / "fixtures/pools").glob("*.yaml"))
    clusters += sorted(str(f.relative_to(folder)) for f in (folder / "fixtures/clusters/running").glob("*.yaml"))
    for cluster in clusters:
        yield Set(f"shop on {Path(cluster).name}", ("fixtures/shop",), cluster, formats=FORMATS, asked=4)
    yield Set("shop without a cluster", ("fixtures/shop",), formats=FORMATS)
    yield Set("golden", ("fixtures/golden/manifests",), zones, formats=FORMATS, asked=4)
    yield Set("clean", ("fixtures/manifests/clean",), zones, formats=FORMATS, asked=4)
    yield Set("chart", ("fixtures/charts/recorded/shop.yaml",), zones)
    wrong = folder / "fixtures/wrong-verdicts"
    for file in sorted(f for f in wrong.rglob("*.yaml") if ".cluster." not in f.name):
        own = sorted(wrong.glob(f"{file.stem}*.cluster.*")) or [wrong / "three.cluster.json"]
        for cluster in own:
            paths = (str(file.relative_to(folder)), str(cluster.relative_to(folder)))
            yield Set(f"{file.relative_to(wrong)} on {cluster.name}", paths[:1], paths[1])
    for file in sorted((folder / "fixtures/hostile").iterdir()):
        path = str(file.relative_to(folder))
        yield Set(f"hostile {file.name}", (path,))
        yield Set(f"hostile cluster {file.name}", ("fixtures/shop",), path, asked=1)
    yield Set("all that is hostile", ("fixtures/hostile",), zones, formats=FORMATS, asked=0)
    shop = "examples/shop-repo"
    yield Set("shop-repo", ("manifests",), "cluster.yaml", formats=FORMATS, asked=4, cwd=shop)
    yield Set("shop-repo by its configuration", ("manifests",), formats=FORMATS, cwd=shop)
    yield Set("shop-repo on staging", ("manifests",), "staging.yaml", formats=FORMATS, asked=4, cwd=shop)
    rules = ("--rules", "examples/rules")
    yield Set("own rules on shop", ("fixtures/shop",), zones, options=rules, formats=FORMATS)


def _seeds(folder: Path) -> Iterator[Set]:
    for home in sorted((folder / "fixtures/seeds").iterdir()):
        files = sorted(f for f in home.rglob("*.yaml"))
        clusters = [f for f in files if re.search(r"kind: (ClusterSketch|Node)\b", f.read_text(encoding="utf-8"))]
        manifests = tuple(str(f.relative_to(folder)) for f in files if f not in clusters)
        for cluster in clusters if manifests else ():
            yield Set(f"seed {home.name} on {cluster.name}", manifests, str(cluster.relative_to(folder)))


def _worlds(folder: Path) -> Iterator[Set]:
    """Small clusters with objects of every kind, if the tests' generator can be imported."""
    try:
        from tests.worlds.generator import seeded
    except ImportError as error:
        print(f"no worlds: {error}", file=sys.stderr)
        return
    for seed in range(WORLDS):
        home = folder / "worlds" / str(seed)
        home.mkdir(parents=True)
        world = seeded(seed)
        (home / "manifests.json").write_bytes(world.manifests_json())
        (home / "cluster.json").write_bytes(world.cluster_json())
        yield Set(f"world {seed}", ("manifests.json",), "cluster.json", formats=("json",), cwd=f"worlds/{seed}")


def _corpus() -> Iterator[Set]:
    zones = "fixtures/clusters/three-zones.yaml"
    yield Set("corpus", ("corpus",), "large.yaml", simulated=False, asked=4)
    yield Set("corpus in three zones", ("corpus",), zones, simulated=False, asked=0)
    yield Set("corpus without a cluster", ("corpus",), options=("--profile", "strict"))
    for part in range(CORPUS_FILES // 100):
        yield Set(f"corpus part {part}", (f"corpus/part-{part:03}",), "large.yaml", asked=3)


def _rules() -> Iterator[Case]:
    yield Case("rules", "rules list", ("rules", "list"))
    yield Case("rules", "rules list json", ("rules", "list", "--format", "json"))
    for card in sorted((ROOT / "rules").glob("[a-z]*.md")):
        yield Case("rules", f"rules explain {card.stem}", ("rules", "explain", card.stem))


def _commands() -> Iterator[Case]:
    zones, shop = "fixtures/clusters/three-zones.yaml", "fixtures/shop"
    argvs = {
        "no arguments": (),
        "lint with a wrong option": ("lint", "--colour", "never"),
        "lint of nothing": ("lint", "absent"),
        "lint with a wrong cluster": ("lint", shop, "-c", "absent.yaml"),
        "lint of an unknown rule": ("lint", shop, "--select", "anti-afinity-exceeds-domains"),
        "lint verbose": ("lint", shop, "-c", zones, "--verbose", "--statistics", "--color", "always", "--no-cache"),
        "simulate text": ("simulate", shop, "-c", zones, "--picture", "zone-loss", "--color", "never"),
        "simulate to scale": ("simulate", shop, "-c", zones, "--scale", "web=9", "--never-ready", "shop/web"),
        "simulate in HTML": ("simulate", shop, "-c", zones, "--format", "html-fragment"),
        "init": ("init", "fixtures/clusters/kubectl-get.json.gz", "-o", "{out}/sketch.yaml"),
        "config show": ("config", "show"),
        "config schema": ("config", "schema"),
        "fleet": ("fleet", shop, "--clusters", "fixtures/clusters/running", "--executor", "serial", "--color", "never"),
        "baseline write": ("baseline", "write", shop, "-c", zones, "-o", "{out}/baseline.json"),
    }
    for name, argv in argvs.items():
        yield Case("commands", name, argv)


def _compat(folder: Path) -> Iterator[Case]:
    """The files of a repository of 0.1: a configuration, a baseline, waivers, and a package of rules in Python."""
    shutil.copytree(ROOT / "fixtures" / "compat-0.1", folder / "compat-0.1")
    shown = ("--format", "text", "--format", "json={out}/json", "--format", "sarif={out}/sarif", "--color", "never")
    argvs = {
        "lint": ("lint", "manifests", *shown, "--verbose", "--no-cache"),
        "lint without a baseline": ("lint", "manifests", *shown, "--no-config", "-c", "cluster.yaml", "--no-cache"),
        "changes": ("lint", "manifests", "--diff", "--unsafe-fixes", "--no-cache"),
        "configuration": ("config", "show"),
        "rules list": ("rules", "list"),
        "rule of the package": ("rules", "explain", "host-port-of-two-teams"),
        "simulate": ("simulate", "manifests", "--format", "json"),
    }
    for name, argv in argvs.items():
        yield Case("compat", f"0.1: {name}", argv, "compat-0.1", ("site-packages",))
