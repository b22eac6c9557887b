"""A coverage-guided fuzzer (atheris, libFuzzer) over the readers: bytes in, documented refusals out, and nothing else.

    python -m venv /tmp/fuzzvenv && /tmp/fuzzvenv/bin/pip install atheris -e .
    nice -n 19 /tmp/fuzzvenv/bin/python scripts/fuzz.py manifests /tmp/fuzz -max_total_time=600

Targets are ``manifests`` (bytes → documents → decoded → validated, and where each error stands), ``clusters``
(kubectl's output, snapshots, sketches, node groups), ``texts`` (configuration, cards, baselines, waivers) and ``lint``
(manifests under every rule, on a small cluster). Whatever follows the folder goes to libFuzzer. Seeds come from
``fixtures/``.

What it finds lies in ``FOLDER/<target>-found``, one input for each place that raised or was slow, so that a run goes on
after the first; its traceback lies beside it. libFuzzer's own log (``cov:`` and ``corp:``) tells how coverage grew. One
input is tried again by ``scripts/fuzz.py TARGET FOLDER FILE``. What was mended is kept in ``tests/garbage/cases``.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LARGEST = 8_192
SLOW = 2.0
"""Seconds of CPU for one input; instrumented code takes about three times as long as code is."""
TOKENS = """
apiVersion: v1
kind: List
kind: Deployment
kind: DaemonSet
kind: ClusterSketch
kind: NodeGroups
kind: ClusterSnapshot
items:
metadata:
annotations:
labels: {a: null, b: 3}
spec:
template:
nodeName: a
replicas: -1
replicas: 2147483647
maxSurge: 101%
containers:
- *a
&a
<<: *a
--- # c
...
%TAG ! !
!!binary
!!int
|+
>-
? x
'
"
{{ .Values.x }}
$patch: delete
[{a: 1}, ~, .inf, 1e400]
0x8000000000000000
1_0:2
2001-01-01
10Gi
1e-400
-5n
\ufeff
\u2028
\u0085
# kubesched: ignore[*] x
""".strip("\n").split("\n")


class SlowError(Exception):
    """An input took more CPU time than any may."""


class MisplacedError(AssertionError):
    """An error that names no file, or a place outside its text."""


def held(path: str, line: int, column: int, text: str) -> None:
    """Raises MisplacedError unless the place is none, or one in the text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.count("\n") + 1
    if not path or not (0 <= line <= lines) or column < 0:
        raise MisplacedError(f"{path}:{line}:{column} in a text of {lines} lines")
    if line and column > len(text.split("\n")[line - 1]) + 1:
        raise MisplacedError(f"{path}:{line}:{column} is beyond the end of its line")


def text_of(data: bytes) -> str:
    from kubesched_lint.manifests import parting

    found = parting.text_of("x", data)
    return found if isinstance(found, str) else ""


def manifests(data: bytes) -> None:
    """The manifest reader as ``lint`` uses it."""
    from kubesched_lint.engine.reading import manifest_set
    from kubesched_lint.engine.waivers import find_waivers
    from kubesched_lint.manifests.document import Document
    from kubesched_lint.manifests.loader import documents
    from kubesched_lint.model.decode.objects import is_read
    from kubesched_lint.validation.validate import validate

    text = text_of(data)
    path = "m.json" if data[:1] == b"{" else "m.yaml"
    entries = list(documents(path, data, is_read))
    found = manifest_set(entries, "default")
    for error in found.errors:
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
    from kubesched_lint.cluster.cluster import ClusterError
    from kubesched_lint.cluster.read import cluster_from

    for name in ("c.json", "c.yaml"):
        try:
            cluster = cluster_from([(name, data)], name)
        except ClusterError as error:
            held(error.path, error.line, error.column, data.decode("utf-8", "replace"))
            if "\n" in error.message:
                raise MisplacedError("a message of several lines") from None
        else:
            cluster.settled()
            list(cluster.notes)


def texts(data: bytes) -> None:
    """Configuration, baseline, card and waivers, told apart by the first byte."""
    from kubesched_lint.engine.baseline import entries_in
    from kubesched_lint.engine.options import BaselineError
    from kubesched_lint.engine.waivers import find_waivers
    from kubesched_lint.rulebook.library import Rulebook

    which, rest = data[:1], data[1:]
    if which == b"b":
        try:
            entries_in(rest, "b.json", Rulebook.shipped())
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
    from kubesched_lint.engine.config import ConfigError
    from kubesched_lint.engine.config_file import NAME, read_config
    from kubesched_lint.rulebook.library import Rulebook

    Path(NAME).write_bytes(data)
    try:
        read_config(NAME, Rulebook.shipped())
    except ConfigError as error:
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        for problem in error.problems:
            held(problem.path, problem.line, problem.column, text)


def _card(text: str) -> None:
    from kubesched_lint.rulebook.card import faults, parse_card, to_rule
    from kubesched_lint.rulebook.frontmatter import CardError

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
    """Every rule over what the reader makes of it; a rule that raises is an error that names it."""
    from kubesched_lint import library

    for cluster in (None, _small_cluster()):
        report = library.lint(
            text={"m.yaml": data.decode("utf-8", "surrogateescape")}, cluster=cluster, profile="strict"
        )
        for error in report.errors:
            if error.message.startswith("rule "):
                raise AssertionError(error.message)


def _small_cluster() -> object:
    from kubesched_lint import library

    if not _CLUSTER:
        _CLUSTER.append(library.load_cluster(ROOT / "fixtures" / "clusters" / "three-zones.yaml"))
    return _CLUSTER[0]


_CLUSTER: list[object] = []
TARGETS: dict[str, Callable[[bytes], None]] = {
    "manifests": manifests,
    "clusters": clusters,
    "texts": texts,
    "lint": lint,
}


# -- seeds -------------------------------------------------------------------------------------------------------------


def seeds(target: str) -> Iterator[bytes]:
    """Small inputs from the fixtures of this repository."""
    fixtures = ROOT / "fixtures"
    if target in ("manifests", "lint"):
        for file in sorted(fixtures.rglob("*")):
            if file.suffix in (".yaml", ".json") and file.is_file() and "clusters" not in file.parts:
                yield from _as_is(file)
    elif target == "clusters":
        for folder in ("clusters", "pools"):
            for file in sorted((fixtures / folder).rglob("*.*")):
                yield from _as_is(file)
        yield from _one_of_each(gzip.decompress((fixtures / "clusters" / "kubectl-get.json.gz").read_bytes()))
    else:
        for file in (*fixtures.rglob("*.toml"), ROOT / "examples" / "kubesched.toml"):
            yield from (b"c" + data for data in _as_is(file))
        for file in sorted((ROOT / "rules").glob("*.md"))[::8]:
            yield from (b"k" + data for data in _as_is(file))
        entry = dict.fromkeys(("rule", "kind", "namespace", "name", "at"), "x") | {"severity": "error"}
        yield b"b" + json.dumps({"kubesched-lint-baseline": 1, "findings": [entry]}).encode()
        yield b"wa: b # kubesched: ignore[pvc-missing, x] because\n# kubesched: ignore\nc: 'x # y'\n"


def _as_is(file: Path) -> Iterator[bytes]:
    if file.is_file() and file.suffix != ".gz" and file.stat().st_size <= LARGEST:
        yield file.read_bytes()


def _one_of_each(recorded: bytes) -> Iterator[bytes]:
    """Each kind of kubectl's output by itself, as JSON."""
    met: set[str] = set()
    for item in json.loads(recorded)["items"]:
        if item["kind"] not in met:
            met.add(item["kind"])
            yield json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}, indent=1).encode()
            yield json.dumps({"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "items": [item]}).encode()


# -- changing ----------------------------------------------------------------------------------------------------------


def changed(data: bytes, largest: int, seed: int) -> bytes:
    """Lines moved, doubled, cut and indented, values replaced by odd ones: what bytes alone rarely come to."""
    chance = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        token = chance.choice(TOKENS).encode()
        match chance.randrange(8):
            case 0:
                lines.insert(at, token)
            case 1:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 2 if len(lines) > 1:
                del lines[at]
            case 3:
                lines[at] = b" " * chance.randint(1, 4) + lines[at]
            case 4:
                lines[at] = lines[at][chance.randint(1, 2) :]
            case 5:
                lines[at] = lines[at].partition(b":")[0] + b": " + token
            case 6:
                lines[at] += token
            case _:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)[:largest]


# -- running -----------------------------------------------------------------------------------------------------------


class Watch:
    """Runs a target and keeps the first input for each place that raised."""

    def __init__(self, target: str, folder: Path) -> None:
        self.run = TARGETS[target]
        self.folder = folder / f"{target}-found"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.met: set[str] = set()

    def __call__(self, data: bytes) -> None:
        start = time.process_time()
        try:
            self.run(data)
            if time.process_time() - start > SLOW:
                raise SlowError(f"{time.process_time() - start:.1f} s of CPU for {len(data)} bytes")
        except Exception as error:
            self.keep(data, error)

    def keep(self, data: bytes, error: Exception) -> None:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "kubesched_lint" in f.filename]
        place = f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}" if ours else "harness"
        name = f"{type(error).__name__}-{place}"
        if name in self.met:
            return
        self.met.add(name)
        (self.folder / name).write_bytes(data)
        (self.folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)), "utf-8", "replace")
        print(f"FOUND {name}: {error}"[:300], file=sys.stderr, flush=True)


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in TARGETS:
        sys.exit(__doc__)
    target, folder, *rest = sys.argv[1:]
    where = Path(folder).resolve()
    if rest and Path(rest[0]).is_file():
        TARGETS[target](Path(rest[0]).read_bytes())
        return
    import atheris

    with atheris.instrument_imports(include=["kubesched_lint"]):
        import kubesched_lint.cli.app
        import kubesched_lint.engine.session
        import kubesched_lint.library  # noqa: F401 - all three only for the instrumentation
    corpus = where / f"{target}-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (corpus / blake2b(seed, digest_size=8).hexdigest()).write_bytes(seed)
    watch = Watch(target, where)
    os.chdir(where)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        return changed(data, largest, seed) if seed % 2 else bytes(atheris.Mutate(data, largest))

    def run(data: bytes) -> None:
        with atheris.instrument_imports(include=["kubesched_lint"]):  # what is imported within functions
            watch(data)

    flags = [f"-max_len={LARGEST}", "-timeout=120", "-rss_limit_mb=3000", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *flags, *rest, str(corpus)], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
