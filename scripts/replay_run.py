"""Runs command lines of kubesched-lint, each in a fork of one warm process; ``same_output.py`` starts it.

``python replay_run.py CASES RESULTS FOLDER``, with the interpreter and ``PYTHONPATH`` of the version under test. It
reads one JSON list of cases and writes one line of JSON for each: exit code, both streams, the written files and the
seconds of CPU. It imports only the standard library, because everything else belongs to the version under test.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import runpy
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

SECONDS = 300
"""CPU after which a command is ended; its exit code then is -24."""
_LATE = ("capture", "dask", "executors")
"""Parts of module names whose imports are slow and which no case needs."""


def warm() -> str:
    """Imports the package, so that no fork has to; returns its path."""
    import gc

    package = importlib.import_module("kubesched_lint")
    for module in pkgutil.walk_packages(package.__path__, "kubesched_lint."):
        if not module.name.endswith("__main__") and not any(word in module.name for word in _LATE):
            try:
                importlib.import_module(module.name)
            except ImportError:  # an extra is not installed
                continue
    gc.freeze()
    return str(Path(package.__file__ or "").parent)


def run(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Runs one command in a fork; ``{out}`` in its arguments is a folder for its files."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    streams = [folder / "stdout", folder / "stderr"]
    pid = os.fork()
    if pid == 0:
        _become(case, folder / "inputs" / case["cwd"], out, streams)
    _, status, used = os.wait4(pid, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "stdout": _text(streams[0], folder),
        "stderr": _text(streams[1], folder),
        "files": {str(f.relative_to(out)): _text(f, folder) for f in sorted(out.rglob("*")) if f.is_file()},
        "cpu": used.ru_utime + used.ru_stime,
    }


def _become(case: dict[str, Any], home: Path, out: Path, streams: list[Path]) -> None:
    import resource

    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.chdir(home)
        for number, name in enumerate(("/dev/null", *map(str, streams))):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags), number)
        sys.path[:0] = [str(home / entry) for entry in case["path"]]
        sys.argv = ["kubesched-lint", *(word.replace("{out}", str(out)) for word in case["argv"])]
        runpy.run_module("kubesched_lint", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _text(file: Path, folder: Path) -> str:
    """The bytes as text that can be encoded again; a placeholder replaces the folder of this version."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    return text.replace(str(folder), "/replay")


def main() -> None:
    cases, results, folder = (Path(word) for word in sys.argv[1:4])
    with results.open("w", encoding="ascii") as results_file:
        print(json.dumps({"package": warm()}), file=results_file, flush=True)
        for case in json.loads(cases.read_text()):
            print(json.dumps({"key": case["key"], **run(case, folder)}), file=results_file, flush=True)


if __name__ == "__main__":
    main()
