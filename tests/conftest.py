"""Options and fixtures of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
MEMORY = "/dev/shm"
_ROOM = 2 << 30
"""Bytes that must be free there: ten times what a run takes."""


def _is_fast(folder: str) -> bool:
    """Whether tests may write there, run what they wrote, and find room."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= _ROOM


if _is_fast(MEMORY):  # a run makes 27,000 files; for a disk that makes them last, some tests wait longer than they work
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="Rewrite fixtures/golden/ from what the code says now."
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a run of neighbouring tests: what a module computes once is seldom computed by two workers."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_configure(config: pytest.Config) -> None:
    from tests import share

    share.is_part = "not thorough" in config.option.markexpr
    # The same examples in every run: no commit fails by chance.
    settings.register_profile("fixed", derandomize=True, database=None, max_examples=share.examples(100))
    settings.load_profile("fixed")
    _read_yaml_by_libyaml()


def _read_yaml_by_libyaml() -> None:
    """Tests read much YAML to look at it, and libyaml is ten times as fast. The program calls neither function."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yaml.safe_load = partial(yaml.load, Loader=loader)
    yaml.safe_load_all = partial(yaml.load_all, Loader=loader)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    from tests.share import LEFT

    for item in items:
        item.config.stash.setdefault(LEFT, []).append(item)


def pytest_sessionfinish(session: pytest.Session) -> None:
    from tests.share import LEFT

    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = len(session.config.stash.get(LEFT, []))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Let the last line say how many tests were left out, as it does without workers: all leave out the same."""
    reporter = node.config.pluginmanager.getplugin("terminalreporter")
    reporter.stats["deselected"] = [SimpleNamespace()] * getattr(node, "workeroutput", {}).get("deselected", 0)


def pytest_collection(session: pytest.Session) -> None:
    """Nearly all that collection makes stays until the end: looking for garbage among it finds nothing."""
    gc.disable()
    _forget_constants()
    _compile_in_turn(session.config)


def _forget_constants() -> None:
    """Let Hypothesis draw none of the constants in the thousand modules that are loaded.

    It would parse them all, in each worker, and draw other examples of a test whenever a module changes or others run.
    """
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def _compile_in_turn(config: pytest.Config) -> None:
    """Each worker collects all modules. Let each begin elsewhere: it finds compiled what another has come to."""
    given = getattr(config, "workerinput", None)
    if given is None or config.args_source != pytest.Config.ArgsSource.TESTPATHS:
        return
    root = config.rootpath
    files = sorted(file.relative_to(root) for path in config.args for file in (root / path).rglob("test_*.py"))
    begin = len(files) * int(given["workerid"].removeprefix("gw")) // given["workercount"]
    for file in files[begin:] + files[:begin]:
        with suppress(Exception, pytest.skip.Exception):  # collection imports it again, and says what is wrong
            import_module(".".join(file.with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Garbage collection visits no collected test again, and waits for more than Python's 700 new objects."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with ``fixtures/golden/NAME``; with ``--update-golden`` writes it there instead."""

    def compare(name: str, text: str) -> None:
        file = FIXTURES / "golden" / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        assert file.is_file(), f"{name} is missing: run pytest --update-golden and read what it wrote"
        assert text == file.read_bytes().decode(), f"{name} differs: if that is meant, run pytest --update-golden"

    return compare


@pytest.fixture(scope="session")
def program() -> Path:
    """``kubesched-lint`` of this work tree, as a file that scripts run."""
    from tests import served

    return served.program()


@pytest.fixture(autouse=True, scope="session")
def _of_the_whole_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One fixture, for pytest asks for each of them before every test."""
    _own_cache(tmp_path_factory)
    _processes_share_bytecode(tmp_path_factory)
    _refuted_proofs_raise()


def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test finds what a person's runs have kept, nor leaves anything among it."""
    os.environ["KUBESCHED_LINT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


def _processes_share_bytecode(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where Python may write none beside the sources, each process of a test would compile every module again."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        own = tmp_path_factory.getbasetemp()
        shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
        os.environ["PYTHONPYCACHEPREFIX"] = str(shared / "bytecode")


def _refuted_proofs_raise() -> None:
    """A proof that a run of the model beats is printed as a warning to users, and fails a test."""
    from kubesched_lint.engine.placing import attempts

    attempts.raising = True
