"""The targets of ``fuzz.py``: bytes in, documented refusals out, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class MisplacedError(AssertionError):
    """An error that names no file, or a place outside its text."""


def held(path: str, line: int, column: int, text: str) -> None:
    """Raises MisplacedError unless the place is empty or in the text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.count("\n") + 1
    if not path or not (0 <= line <= lines) or column < 0:
        raise MisplacedError(f"{path}:{line}:{column} in a text of {lines} lines")
    if line and column > len(text.split("\n")[line - 1]) + 1:
        raise MisplacedError(f"{path}:{line}:{column} is beyond the end of its line")


def text_of(data: bytes) -> str:
    from kubesched_lint.sources.manifests.yaml import split

    text = split.text_of("x", data)
    return text if isinstance(text, str) else ""


def manifests(data: bytes) -> None:
    """The manifest reader as ``lint`` uses it."""
    from kubesched_lint.engine.apiserver.validate import validate
    from kubesched_lint.engine.model.decode.objects import is_read
    from kubesched_lint.linter.reading.manifest_set import manifest_set
    from kubesched_lint.linter.waivers.waivers import find_waivers
    from kubesched_lint.sources.manifests.document import Document
    from kubesched_lint.sources.manifests.loader import documents

    text = text_of(data)
    path = "m.json" if data[:1] == b"{" else "m.yaml"
    entries = list(documents(path, data, is_read))
    read_set = manifest_set(entries, "default")
    for error in read_set.errors:
        held(error.path, error.line, error.column, text)
    for entry in entries:
        if not 0 <= entry.line <= text.count("\n") + 1:
            raise MisplacedError(f"{type(entry).__name__} in line {entry.line}")
        if isinstance(entry, Document):
            verdict = validate(entry.value)
            for cause in verdict.causes[:20]:
                span = entry.span(cause.path)
                held(path, span.line, span.column, text)
                held(path, span.end_line, span.end_column, text)
            if "kubesched:" in entry.text:
                find_waivers(entry.text, path, entry.line)


def clusters(data: bytes) -> None:
    """The reader of snapshots, kubectl's output and sketches."""
    from kubesched_lint.engine.cluster.cluster import ClusterError
    from kubesched_lint.sources.clusters.read import cluster_from

    for name in ("c.json", "c.yaml"):
        try:
            cluster = cluster_from([(name, data)], name)
        except ClusterError as error:
            text = data.decode("utf-8", "replace")
            try:
                held(error.path, error.line, error.column, text)
            except MisplacedError:  # to JSON a carriage return is a space
                held(error.path, error.line, error.column, text.replace("\r", " "))
            if "\n" in error.message:
                raise MisplacedError("a message of several lines") from None
        else:
            cluster.without_transient()
            list(cluster.notes)


def texts(data: bytes) -> None:
    """Configuration, baseline, card and waivers, told apart by the first byte."""
    from kubesched_lint.linter.options import BaselineError
    from kubesched_lint.linter.waivers.waivers import find_waivers
    from kubesched_lint.project.baseline import entries_in
    from kubesched_lint.rulebook import library as books

    which, rest = data[:1], data[1:]
    if which == b"b":
        try:
            entries_in(rest, "b.json", books.Rulebook.shipped())
        except BaselineError:
            return
    elif which == b"c":
        _config(rest)
    elif which == b"k":
        _card(rest.decode("utf-8", "replace"))
    else:
        text = rest.decode("utf-8", "surrogateescape")
        for waiver in find_waivers(text, "m.yaml"):
            held("m.yaml", waiver.at.line, waiver.at.column, text)


def _config(data: bytes) -> None:
    from kubesched_lint.project.config.file import NAME, read_config
    from kubesched_lint.project.config.keys import ConfigError
    from kubesched_lint.rulebook import library as books

    Path(NAME).write_bytes(data)
    try:
        read_config(NAME, books.Rulebook.shipped())
    except ConfigError as error:
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        for problem in error.problems:
            held(problem.path, problem.line, problem.column, text)


def _card(text: str) -> None:
    from kubesched_lint.rulebook.cards.card import faults, parse_card, to_rule
    from kubesched_lint.rulebook.cards.frontmatter import CardError

    try:
        card = parse_card(text, "c.md", "a-rule")
    except CardError as error:
        held(error.path, error.line, 1, text)
        return
    wrong = list(faults(card))
    for fault in wrong:
        held(fault.path, fault.line, 1, text)
    if not wrong:
        to_rule(card)


def lint(data: bytes) -> None:
    """Every rule on the documents that the reader returns; a rule that raises is an error that names it."""
    from kubesched_lint import library

    for cluster in (None, _small_cluster()):
        report = library.lint(
            text={"m.yaml": data.decode("utf-8", "surrogateescape")}, cluster=cluster, profile="strict"
        )
        for error in report.errors:
            if error.message.startswith("rule "):
                raise AssertionError(error.message)


@cache
def _small_cluster() -> Any:
    from kubesched_lint import library

    return library.load_cluster(ROOT / "fixtures" / "clusters" / "three-zones.yaml")


def simulate(data: bytes) -> None:
    """Every event for every workload; the work has a limit whatever the numbers in them."""
    from kubesched_lint import library

    library.simulate(text={"m.yaml": data.decode("utf-8", "surrogateescape")}, cluster=_small_cluster(), states=200)


def kustomizations(data: bytes) -> None:
    """The files of a kustomization; nothing is rendered, and nothing outside its repository is read or passed on."""
    from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS
    from kubesched_lint.sources.manifests.kustomize.tree import tree_of
    from kubesched_lint.sources.manifests.recognizing.kustomization import listing

    folder = Path("kustomized")
    for inside in ("b", "c", ".git"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
        (folder / inside / KUSTOMIZATIONS[0]).write_text("resources: [../a.yaml]\n")
    (folder / "a.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    (folder / "link.yaml").unlink(missing_ok=True)
    (folder / "link.yaml").symlink_to("/etc/passwd")
    (folder / KUSTOMIZATIONS[0]).write_bytes(data)
    listing(data)
    tree = tree_of(str(folder))
    if tree is None:
        return
    root = str(folder.resolve())
    outside = [p for p in (*tree.folders, *tree.files, *tree.instead) if p != root and not p.startswith(f"{root}/")]
    if outside and tree.obstacle is None:
        raise AssertionError(f"outside the repository: {outside}")
    if any(b"root:" in text for text in tree.files.values()):
        raise AssertionError("a link that leaves the repository was followed")


def config(data: bytes) -> None:
    """Configuration in TOML: a refusal with its place, or a configuration."""
    _config(data)


def cel(data: bytes) -> None:
    """A card with expressions: its faults have a place, and a rule without faults runs."""
    from kubesched_lint import library
    from kubesched_lint.rulebook.cel.language import require_cel

    require_cel()
    each, where, require = (*data.decode("utf-8", "replace").split("\n---\n"), "", "")[:3]
    Path("rules").mkdir(exist_ok=True)
    file = Path("rules/fuzzed.md")
    file.write_text(CARD.format(each=json.dumps(each), where=json.dumps(where), require=json.dumps(require)))
    book = library.load_rules(Path("rules"))
    text = file.read_text()
    for fault in book.faults:
        held(fault.path, fault.line, 1, text)
    if book.faults:
        return
    report = library.lint(text={"m.yaml": DEPLOYMENT}, cluster=_small_cluster(), rules=book, select=["fuzzed"])
    for error in report.errors:
        if "\n" in error.message:
            raise MisplacedError("a message of several lines")


CARD = """---
summary: Fuzzed
family: policy
severity: warning
evidence: policy
needs: [text]
each: {each}
where: {where}
require: {require}
message: "{{object}} is not so"
help: make it so
since: 1.0.0
---
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {team: x}}
spec:
  replicas: 3
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      tolerations: [{key: a, operator: Exists}]
      containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}], resources: {requests: {cpu: 1}}}]
"""
SECRET = "zqsecretqz"


def redaction(data: bytes) -> None:
    """An object under pseudonyms keeps its type and contains no private word."""
    import msgspec

    from kubesched_lint.sources.capture.resources import RESOURCES
    from kubesched_lint.sources.redaction.redact import Redactor

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    for resource in RESOURCES:
        if kind in (resource.kind, None):
            try:
                item = msgspec.json.decode(msgspec.json.encode(_marked(value)), type=resource.part)
            except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
                continue
            plain = msgspec.json.decode(msgspec.json.encode(item))
            hidden = msgspec.json.encode(Redactor(b"k").item(plain))
            if SECRET.encode() in hidden:
                raise AssertionError(f"left in clear: {hidden[:400]!r}")
            msgspec.json.decode(hidden, type=resource.part)


def _marked(value: Any, depth: int = 0) -> Any:
    """Adds a private word to every string, so that none is Kubernetes' own any more; field names stay."""
    if depth > 100:
        return None
    if isinstance(value, dict):
        free = not any(isinstance(inner, (dict, list)) for inner in value.values())
        return {
            f"{key}-{SECRET}" if free and ("/" in key or "." in key) else key: _marked(inner, depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_marked(inner, depth + 1) for inner in value]
    return f"{value}{SECRET}" if isinstance(value, str) else value


TARGETS: dict[str, Callable[[bytes], None]] = {
    "manifests": manifests,
    "clusters": clusters,
    "texts": texts,
    "lint": lint,
    "simulate": simulate,
    "kustomizations": kustomizations,
    "config": config,
    "cel": cel,
    "redaction": redaction,
}
