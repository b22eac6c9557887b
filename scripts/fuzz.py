"""A coverage-guided fuzzer (atheris, libFuzzer) over the readers: bytes in, documented refusals out, and nothing else.

    python -m venv /tmp/fuzzvenv && /tmp/fuzzvenv/bin/pip install atheris -e .
    nice -n 19 /tmp/fuzzvenv/bin/python scripts/fuzz.py manifests /tmp/fuzz -max_total_time=600

Targets (``fuzz_targets.py``) are ``manifests`` (bytes → documents → decoded → validated, and the place of each error),
``clusters`` (kubectl's output, snapshots, sketches, node groups), ``texts`` (cards, baselines, waivers, configuration),
``config`` (TOML alone), ``lint`` (manifests under every rule, on a small cluster), ``simulate`` (every event for
changed valid sets), ``kustomizations`` (the files that they read), ``cel`` (expressions, and manifests under them) and
``redaction`` (no private word remains). Arguments after the folder go to libFuzzer. Seeds come from ``fixtures/``.

The fuzzer keeps one input, with its traceback, for each place that raised or was slow, in ``FOLDER/<target>-found``; a
run continues after the first. libFuzzer's own log (``cov:`` and ``corp:``) shows how coverage grew. ``scripts/fuzz.py
TARGET FOLDER FILE`` tries one input again. ``tests/garbage/cases`` has the inputs of fixed bugs.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.fuzz_targets import TARGETS  # noqa: E402 - found only now

LARGEST = 8_192
SLOW = {"simulate": 20.0}
"""Seconds of CPU for one input, else two; instrumented code takes about three times as long as code is."""
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
    """An input took more CPU time than allowed."""


# -- seeds -------------------------------------------------------------------------------------------------------------


def seeds(target: str) -> Iterator[bytes]:
    """Small inputs from the fixtures of this repository."""
    fixtures = ROOT / "fixtures"
    if target in ("manifests", "lint", "simulate"):
        for file in sorted(fixtures.rglob("*")):
            if file.suffix in (".yaml", ".json") and file.is_file() and "clusters" not in file.parts:
                yield from _as_is(file)
    elif target == "clusters":
        for folder in ("clusters", "pools"):
            for file in sorted((fixtures / folder).rglob("*.*")):
                yield from _as_is(file)
        yield from _one_of_each(gzip.decompress((fixtures / "clusters" / "kubectl-get.json.gz").read_bytes()))
    elif target == "redaction":
        yield from _trimmed(gzip.decompress((fixtures / "clusters" / "kubectl-get.json.gz").read_bytes()))
    elif target == "cel":
        for file in sorted((ROOT / "examples" / "rules").glob("*.md")):
            yield from _expressions(file.read_text())
    elif target == "kustomizations":
        for file in sorted(ROOT.rglob("kustomization.yaml")):
            yield from _as_is(file)
        yield from KUSTOMIZATIONS
    elif target == "config":
        for file in (*fixtures.rglob("*.toml"), ROOT / "examples" / "kubesched.toml"):
            yield from _as_is(file)
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
    """Each kind in kubectl's output separately, as JSON."""
    met: set[str] = set()
    for item in json.loads(recorded)["items"]:
        if item["kind"] not in met:
            met.add(item["kind"])
            yield json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}, indent=1).encode()
            yield json.dumps({"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "items": [item]}).encode()


def _trimmed(recorded: bytes) -> Iterator[bytes]:
    """Each kind in kubectl's output, as the API server lists it."""
    for case in _one_of_each(recorded):
        if b"ClusterSnapshot" not in case:
            yield json.dumps(json.loads(case)["items"][0]).encode()


def _expressions(card: str) -> Iterator[bytes]:
    """The ``each``, ``where`` and ``require`` of cards, in the form that the target accepts."""
    import yaml

    head = yaml.safe_load(card.split("---")[1])
    asked = (head.get("each", "workload"), head.get("where", ""), head.get("require", ""))
    yield "\n---\n".join(str(text) for text in asked).encode()


KUSTOMIZATIONS = (
    b"resources: [a.yaml, b, link.yaml, ../b, https://example.com/x?ref=v1, git@example.com:x/y, alice@host:x]\n",
    b"Resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  path: ../x\n",
    b"configMapGenerator:\n- {name: a, files: [b=c, /etc/passwd, ../../x], envs: ['a?b', x=y], env: q}\n",
    b"patches:\n- {path: a.yaml, target: {kind: Pod}}\n- patch: |-\n    - {op: add, path: /a, value: b}\n",
    b"helmCharts: [{name: x, repo: https://example.com}]\ncomponents: [c]\nreplacements: [{path: r.yaml}]\n",
    b"openapi: {path: schema.json}\ncrds: [crd.yaml]\ngenerators: [g.yaml]\nvalidators: [v.yaml]\n",
)


# -- changing ----------------------------------------------------------------------------------------------------------


def changed(data: bytes, largest: int, seed: int) -> bytes:
    """Text with moved, doubled, cut and indented lines and odd values; changes of single bytes rarely produce these."""
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
        self.slow = SLOW.get(target, 2.0)
        self.folder = folder / f"{target}-found"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.met: set[str] = set()

    def __call__(self, data: bytes) -> None:
        start = time.process_time()
        try:
            self.run(data)
            if time.process_time() - start > self.slow:
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
        import kubesched_lint.commands.lint.run
        import kubesched_lint.library  # noqa: F401 - all three only for the instrumentation
    corpus = where / f"{target}-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (corpus / blake2b(seed, digest_size=8).hexdigest()).write_bytes(seed)
    watch = Watch(target, where)
    os.chdir(where)
    TARGETS[target](b"")  # imports count as no input's time

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        return changed(data, largest, seed) if seed % 2 else bytes(atheris.Mutate(data, largest))

    def run(data: bytes) -> None:
        with atheris.instrument_imports(include=["kubesched_lint"]):  # imports within functions
            watch(data)

    flags = [f"-max_len={LARGEST}", "-timeout=120", "-rss_limit_mb=3000", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *flags, *rest, str(corpus)], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
