"""Whole commands and an editor's questions on garbage, in this process: what holds of each, whatever the files hold.

``python -m tests.garbage.commands --count 1000 --first 7`` tries as many sets of files and prints what broke.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from traceback import extract_tb, format_exception
from typing import Any
from unittest import mock

import yaml
from lsprotocol import types
from typer.testing import CliRunner

from kubesched_lint.cli import _run
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.scheduler.devices import allocator
from kubesched_lint.linter.lint import Run
from kubesched_lint.linter.options import Options
from kubesched_lint.lsp.request_handler import Buffer, RequestHandler
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session.session import Session
from kubesched_lint.session.several import Sessions
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from tests.garbage.garbage import FIXTURES
from tests.served import import_all

Value = dict[str, Any]
GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {name: good, namespace: good}\nspec: {containers: [{name: c}]}\n"
"""The API server refuses it, whatever stands in other files."""
ODD: tuple[Any, ...] = (
    None, {}, [], "", -1, 0, 1, 7, 1e30, 10**12, 2**31 - 1, 2**63, -(2**63), 10**40, 0.5, -0.5, True, "a", "-1", "0",
    "1e30", "-5%", "0%", "101%", "1000000000%", "50%", "10Gi", "-1Gi", "9999999999Ei", "1n", "x" * 70, "a b", "é",
    "A_b-", "a/b/c", "Exists", "DoesNotExist", "Gt", "topology.kubernetes.io/zone", "kubernetes.io/hostname", [[]],
    [None], [{}], [[["a"]]], {"a": None}, {1: 2}, {None: []}, {True: "a"}, ["a", 1], 70000, "web", "cache", "shop",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, -5, 70000, 2**31 - 1, -(2**31), 2**63 - 1, 2**64, 10**30, 1e30, 0.1, "0", "-1", "-1m", "1n", "-5%",
    "0%", "100%", "250%", "1E", "99999Ei", "-1Gi", "1e-9", "00", "",
)  # fmt: skip
EMPTY_NAMES: tuple[Any, ...] = (
    None,
    {},
    [],
    "",
    {"name": ""},
    {"name": None},
    {"generateName": ""},
    {"generateName": "a-"},
)
FORMATS: dict[str, Sequence[str]] = {
    "lint": ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjsonl", "markdown", "html"),
    "simulate": ("text", "json", "html-fragment"),
    "plan": ("text", "json", "markdown", "html"),
    "drain": ("text", "json", "markdown"),
    "audit": ("text", "json", "markdown", "html"),
    "why": ("text", "json"),
    "fit": ("text", "json", "markdown"),
    "fleet": ("text", "json"),
    "init": ("text",),
}
OTHERS = (*list(FORMATS)[1:], "editor")
"""What a set is given to besides ``lint``, by turns."""
_SECONDS = 30
"""CPU time after which a run is given up; other tests are about slow inputs."""
_OURS = re.compile(r"This is a bug|the fix of \S+ failed with|Traceback \(most")


class BrokenError(AssertionError):
    """What must hold of each run does not."""


class _SlowError(BaseException):
    pass


# -- sets of files -----------------------------------------------------------------------------------------------------


@cache
def _objects(name: str) -> tuple[Value, ...]:
    data = (FIXTURES / "garbage" / name).read_bytes()
    found = tuple(entry.value for entry in documents(name, data, lambda *_: True) if isinstance(entry, Document))
    assert found
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping or list with each of its keys or numbers, the outermost first."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def change(random: Random, value: Value) -> None:
    """Replace, remove, add or exchange something somewhere, or the name."""
    if random.random() < 0.1:
        value["metadata"] = deepcopy(random.choice(EMPTY_NAMES))
        return
    places = list(_places(value))
    here, key = random.choice(places)
    match random.randrange(8):
        case 0:
            del here[key]
        case 1 if isinstance(here, dict):
            here[random.choice([None, 1, True, "", "x", "name", "<<"])] = deepcopy(random.choice(ODD))
        case 1 | 2:
            there, other = random.choice(places)
            here[key] = deepcopy(there[other])
        case 3 if isinstance(here, list):
            here.append(deepcopy(here[key]))
        case _:
            here[key] = deepcopy(random.choice(ODD))


def change_kept_in_type(random: Random, value: Value) -> None:
    """Replace numbers, quantities and percentages by others, and words by others of the object: most is decoded."""
    places = [(here, key) for here, key in _places(value) if isinstance(here[key], (int, str))]
    words = [here[key] for here, key in places if isinstance(here[key], str)]
    numbers = [(here, key) for here, key in places if _is_number(here[key])]
    for here, key in random.sample(numbers, min(len(numbers), random.randint(1, 3))):
        here[key] = random.choice(NUMBERS)
    if random.random() < 0.3:
        here, key = random.choice(places)
        if isinstance(here[key], str):
            here[key] = random.choice(words)


def _is_number(value: Any) -> bool:
    return type(value) is int or (isinstance(value, str) and value[:1].isdigit())


def changed(random: Random, objects: Sequence[Value]) -> list[Any]:
    """Return the objects, a few of them changed, and some of them twice."""
    found: list[Any] = deepcopy(list(objects))
    how = random.choice([change, change_kept_in_type])
    for value in random.sample(found, min(len(found), random.randint(1, 4))):
        for _ in range(random.choice([1, 1, 2, 3])):
            if value:
                how(random, value)
    for _ in range(random.choice([0, 0, 1, 3])):
        again = deepcopy(random.choice(objects if random.random() < 0.5 else found))
        if again and random.random() < 0.5:
            how(random, again)
        found.insert(random.randrange(len(found) + 1), again)
    if random.random() < 0.05:
        found.append(random.choice(ODD))
    return found


def _some(random: Random, objects: Sequence[Value]) -> Sequence[Value]:
    return objects if random.random() < 0.3 else random.sample(objects, random.randint(1, min(8, len(objects))))


def _text(objects: Sequence[Any]) -> str:
    return yaml.dump_all(objects, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


def write_set(random: Random) -> bool:
    """Write a set of files into the current folder. Return whether the cluster is as ordinary as the good file."""
    manifests, nodes = _objects("manifests.yaml"), _objects("cluster.yaml")
    chosen = list(_some(random, manifests))
    Path("before.yaml").write_text(_text(chosen) if random.random() < 0.8 else "", "utf-8")
    Path("garbage.yaml").write_text(_text(changed(random, chosen)), "utf-8")
    Path("good.yaml").write_text(GOOD, "utf-8")
    there = [*nodes, *(_some(random, manifests) if random.random() < 0.6 else ())]
    hurt = random.random() < 0.4
    Path("cluster.yaml").write_text(_text(changed(random, there) if hurt else there), "utf-8")
    return not hurt


# -- runs --------------------------------------------------------------------------------------------------------------


@contextmanager
def watched() -> Iterator[list[BaseException]]:
    """Yield a list that gets what rules raise."""
    raised: list[BaseException] = []
    failed = Run._failed

    def note(self: Any, rule: Any, workload: Any, error: Exception) -> None:
        raised.append(error)
        failed(self, rule, workload, error)

    with mock.patch.object(Run, "_failed", note):
        yield raised


def command(*words: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command that must end as each must."""
    runner = CliRunner()
    with watched() as raised, runner.isolation(input=b"") as streams, mock.patch.object(sys, "argv", ["x", *words]):
        try:
            code = _run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 2
        except Exception as error:
            if not hasattr(error, "format_message"):  # a usage error of the parser
                raise
            code = 2
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (stream.getvalue().decode("utf-8", "replace") for stream in streams[:2])
    for error in raised:
        raise error
    if code not in (0, 1, 2, 3):
        raise BrokenError(f"{words}: exit code {code}")
    if ours := _OURS.search(out + err):
        raise BrokenError(f"{words}: {ours[0]}: {(out + err)[ours.start() : ours.start() + 300]}")
    return code, out, err


def run_lint(random: Random, shown: str, is_sound: bool) -> None:
    words = ["lint", "garbage.yaml", "good.yaml", "--no-config", "--no-cache", "-f", shown]
    words += random.choice([[], ["--profile", "strict"], ["--profile", "editor"], ["--diff", "--unsafe-fixes"]])
    words += ["-c", "cluster.yaml"] if random.random() < 0.8 else []
    code, out, err = command(*words)
    if (is_sound or "-c" not in words) and "--diff" not in words and "good.yaml" not in out:
        raise BrokenError(f"{words}: nothing is said of the good file: exit code {code}, {(out + err)[:300]}")


def run_command(random: Random, name: str, shown: str, is_sound: bool) -> None:
    if name == "lint":
        run_lint(random, shown, is_sound)
        return
    inputs = ["--no-config", "-c", "cluster.yaml", "-f", shown]
    match name:
        case "simulate":
            command(name, "garbage.yaml", *inputs, "--states", "50", *random.choice([[], ["--picture", "deploy"]]))
        case "plan":
            command(name, *random.sample(["before.yaml", "garbage.yaml"], 2), *inputs)
        case "drain":
            command(name, *random.choice([[], ["garbage.yaml"]]), *inputs)
        case "audit":
            command(name, *inputs)
        case "why":
            command(name, _subject(random), "garbage.yaml", *inputs)
        case "fit":
            alike = [["--like", _subject(random)], ["--cpu", random.choice(["1", "-1", "1e30"]), "--spread", "zone"]]
            command(name, *random.choice(alike), "garbage.yaml", *inputs)
        case "fleet":
            Path("clusters").mkdir()
            Path("cluster.yaml").rename("clusters/one.yaml")
            command(name, "garbage.yaml", "--clusters", "clusters", "--executor", "serial", "--no-config", "-f", shown)
        case "init":
            command(name, "cluster.yaml", "--node-groups", "complete", *random.choice([[], ["--exact"]]))


def _subject(random: Random) -> str:
    return random.choice(["web", "cache", "single", "migrate", "job/shop/migrate", "agent", "", "pod/shop/waits"])


class _Client:
    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        from lsprotocol.converters import get_converter

        get_converter().unstructure(diagnostics)

    def log(self, text: str) -> None:
        if _OURS.search(text):
            raise BrokenError(text)

    show = log

    def lenses_have_changed(self) -> None:
        pass


def run_editor(random: Random) -> None:
    """Open a folder, type garbage into an ordinary file and back, and ask everywhere."""

    def opener(root: str) -> Sessions:
        request = Request(paths=(root,), cluster="cluster.yaml", cluster_options=ClusterOptions(), cache=False)
        return Sessions({"": Session(request, Options(profile="editor"), Rulebook.shipped())})

    before, garbage = (Path(name).read_text("utf-8") for name in ("before.yaml", "garbage.yaml"))
    Path("garbage.yaml").unlink()
    path = str(Path("before.yaml").resolve())
    with watched() as raised:
        desk = RequestHandler(opener, _Client(), "utf-16", with_versions=True)
        desk.add(str(Path().resolve()))
        for version, text in enumerate([before, garbage, before]):
            desk.put(Buffer(Path(path).as_uri(), path, version, text))
            desk.settle()
            while desk.spend_pause(lambda: False, lambda: False):
                pass
            lines = text.count("\n") + 1
            for _ in range(3 if text == garbage else 1):
                at = types.Position(random.randrange(lines), random.randrange(20))
                desk.hover(path, at)
                desk.actions(path, types.Range(at, at))
            desk.lenses(path)
    for error in raised:
        raise error


def try_set(seed: int, wanted: Sequence[str] = ()) -> None:
    """One set of files, judged by ``lint`` and by one or more other commands. Raises what broke."""
    random = Random(seed)
    tries = 1 if random.random() < 0.2 else allocator.MOST_TRIES  # a search for devices that is given up at once
    with TemporaryDirectory() as folder, chdir(folder), mock.patch.object(allocator, "MOST_TRIES", tries):
        is_sound = write_set(random)
        turn = seed // len(OTHERS)
        run_command(random, "lint", FORMATS["lint"][turn % len(FORMATS["lint"])], is_sound)
        for name in wanted or [OTHERS[seed % len(OTHERS)]]:
            if name == "editor":
                run_editor(random)
            else:
                run_command(random, name, FORMATS[name][turn % len(FORMATS[name])], is_sound)


# -- by hand -----------------------------------------------------------------------------------------------------------


def _where(error: BaseException) -> str:
    """Return what tells one fault from another: the exception, and the line of ours that raised it."""
    ours = [frame for frame in extract_tb(error.__traceback__) if "kubesched_lint/" in frame.filename]
    words = f"{type(error).__name__}: {str(error)[:200]}"
    if not ours or isinstance(error, (BrokenError, _SlowError)):
        return words
    return f"{ours[-1].filename.rpartition('kubesched_lint/')[2]}:{ours[-1].lineno} {words}"


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1, help="the seed of the first set")
    parser.add_argument("--also", nargs="*", default=(), help="the commands besides lint; by default one, by turns")
    parser.add_argument("--trace", action="store_true")
    given = parser.parse_args()
    import_all()

    def give_up(*_: object) -> None:
        raise _SlowError

    signal.signal(signal.SIGVTALRM, give_up)
    broken: dict[str, list[int]] = {}
    for seed in range(given.first, given.first + given.count):
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
        try:
            try_set(seed, given.also)
        except (Exception, _SlowError) as error:
            where = _where(error)
            if where not in broken:
                print(f"seed {seed}: {where}", flush=True)
                if given.trace:
                    print("".join(format_exception(error)))
            broken.setdefault(where, []).append(seed)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(f"{given.count:,} sets, {len(broken)} faults")
    for where, seeds in broken.items():
        print(f"{len(seeds)} × {where}: seeds {', '.join(map(str, seeds[:8]))}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(_main())
