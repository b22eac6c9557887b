"""The recipes for CI in the checkout of a stranger: no Python, pip or git of theirs runs or takes anything from it.

The steps of action.yml and of the GitLab template run with the real ``venv`` and ``pip``. What they install is made
here: a package that notes how it was started, and one that it needs, with lock files that have their hashes.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SHADOWS = (
    *("venv", "pip", "ensurepip", "encodings", "site", "sitecustomize", "usercustomize", "runpy", "json", "urllib"),
    *("kubesched_lint", "typer", "hatchling", "zipfile", "tarfile", "setup"),
)
"""Modules that Python, pip or the linter import; each is a module and a package that can be run."""
VERSION = "0.0.7"
OPTION = "--fail-on=never"
"""A file of theirs."""
PROGRAM = f"""
import os, sys
def main():
    import json, typer, urllib.request
    assert sys.flags.isolated and typer.genuine
    if sys.argv[1] in ("lint", "plan"):
        assert {OPTION!r} not in sys.argv[: sys.argv.index("--")], "a file of theirs is an option"
    with open(os.environ["STARTED"], "a") as file:
        print(sys.argv[1], file=file)
    if sys.argv[1] == "plan":
        print("told")
"""
BACKEND = """
import shutil
def build_wheel(folder, settings=None, metadata=None):
    return shutil.copy("WHEEL", folder).rpartition("/")[2]
"""


def wheel(folder: Path, name: str, files: Mapping[str, str], *, metadata: str = "", scripts: str = "") -> Path:
    """Make the wheel of a package."""
    file = folder / f"{name}-{VERSION}-py3-none-any.whl"
    about = f"{name}-{VERSION}.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n{metadata}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": scripts,
    }
    rows = []
    with zipfile.ZipFile(file, "w") as opened:
        for path, text in files.items():
            opened.writestr(path, text)
            digest = base64.urlsafe_b64encode(sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(text.encode())}\n")
        opened.writestr(f"{about}/RECORD", "".join([*rows, f"{about}/RECORD,,\n"]))
    return file


def publish(index: Path, file: Path) -> None:
    folder = index / file.name.split("-")[0].replace("_", "-")
    folder.mkdir(parents=True)
    shutil.copy(file, folder)
    (folder / "index.html").write_text(f'<a href="{file.name}">{file.name}</a>')


@pytest.fixture
def action(tmp_path: Path) -> Path:
    """The folder of an action whose package notes in STARTED how it is started; an index has the same package."""
    folder = tmp_path / "action"
    shutil.copytree(ROOT / "ci", folder / "ci")
    locked = folder / "kubesched_lint" / "locked"
    locked.mkdir(parents=True)
    needed = wheel(folder, "typer", {"typer.py": "genuine = True\n"})
    digest = sha256(needed.read_bytes()).hexdigest()
    for name in ("build", "core", "solver", "cel"):
        (locked / f"{name}.txt").write_text(f"typer=={VERSION} --hash=sha256:{digest}\n" if name == "core" else "")
    files = {f"kubesched_lint/locked/{file.name}": file.read_text() for file in locked.iterdir()}
    files["kubesched_lint/__init__.py"] = PROGRAM
    scripts = "[console_scripts]\nkubesched-lint = kubesched_lint:main\n"
    extras = "".join(f"Provides-Extra: {name}\n" for name in ("solver", "cel"))
    made = wheel(folder, "kubesched_lint", files, metadata=extras, scripts=scripts)
    (folder / "backend.py").write_text(BACKEND.replace("WHEEL", str(made)))
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "kubesched-lint"\nversion = "{VERSION}"\n'
    )
    publish(tmp_path / "index", needed)
    publish(tmp_path / "index", made)
    return folder


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A folder with a file for each trap that has run."""
    folder = tmp_path / "ran"
    folder.mkdir()
    return folder


@pytest.fixture
def checkout(tmp_path: Path, ran: Path) -> Path:
    """A repository whose author has set all traps."""
    work = tmp_path / "work"
    for name in SHADOWS:
        trap = f"open({str(ran / name)!r}, 'w').close()\n"
        (work / name).mkdir(parents=True)
        for file in (f"{name}.py", f"{name}/__init__.py", f"{name}/__main__.py"):
            (work / file).write_text(trap)
    bring_environment(work / ".kubesched", ran)
    bring_environment(work / "env", ran)
    settings = f"[global]\nindex-url = file://{work}/index\nfind-links = {work}\n[install]\neditable = {work}\n"
    for name in ("pip.conf", ".config/pip/pip.conf", ".pip/pip.conf"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(settings)
    (work / "setup.cfg").write_text("[metadata]\nname = kubesched-lint\n")
    (work / ".pydistutils.cfg").write_text(f"[install]\ninstall_lib = {work}\n")
    (work / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
    )
    (work / "kubesched.toml").write_text('fail-on = "never"\n')
    (work / OPTION).touch()
    return work


def bring_environment(folder: Path, ran: Path) -> None:
    """An environment whose Python, scripts and ``.pth`` file are traps."""
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "planted.pth").write_text(f"import os; open({str(ran / 'planted.pth')!r}, 'w')\n")
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (folder / "bin").mkdir()
    for name in ("python", "python3", "pip", "kubesched-lint"):
        (folder / "bin" / name).write_text(f'#!/bin/sh\ntouch {ran}/brought-{name}\nexec python3 "$@"\n')
        (folder / "bin" / name).chmod(0o755)


def committed(work: Path) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for args in (("init", "-q", "-b", "main"), ("add", "-f", "."), ("commit", "-q", "-m", "all")):
        subprocess.run(["git", *who, *args], cwd=work, check=True, capture_output=True)


def environment(tmp_path: Path, work: Path) -> dict[str, str]:
    """The variables of a job whose owner has set what points into the checkout."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "GIT_"))}
    return {
        **own,
        "PATH": f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "STARTED": str(tmp_path / "started"),
        "PYTHONPATH": f"{work}:",
        "PYTHONUSERBASE": str(work / "env"),
        "PYTHONSTARTUP": str(work / "site.py"),
        "PIP_INDEX_URL": f"file://{tmp_path}/index",
        "PIP_CONFIG_FILE": "pip.conf",
        "PIP_FIND_LINKS": str(work),
        "PIP_EDITABLE": str(work),
        "PIP_CACHE_DIR": str(work / ".cache"),
        "PIP_PYTHON": str(work / "env" / "bin" / "python"),
        "XDG_CONFIG_HOME": str(work / ".config"),
        "KUBESCHED_LINT_CACHE_DIR": str(work / ".cache"),
    }


def run(script: str, shell: list[str], work: Path, environ: Mapping[str, str]) -> None:
    done = subprocess.run(
        [*shell, "-c", script], cwd=work, env=environ, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_traps_work(tmp_path: Path, checkout: Path, ran: Path) -> None:
    """What the recipes did before would run them."""
    own = {name: value for name, value in environment(tmp_path, checkout).items() if not name.startswith("PYTHON")}
    subprocess.run(["python3", "-m", "venv", ".kubesched"], cwd=checkout, env=own, capture_output=True, check=False)
    subprocess.run([".kubesched/bin/python", "-m", "pip"], cwd=checkout, env=own, capture_output=True, check=False)
    assert {file.name for file in ran.iterdir()} >= {"venv", "brought-python", "pip"}


def test_the_action_runs_nothing_of_the_checkout(tmp_path: Path, action: Path, checkout: Path, ran: Path) -> None:
    committed(checkout)
    bring_environment(tmp_path / "temp" / "kubesched-lint", ran)  # as an earlier job may have left it
    (tmp_path / "event.json").write_text("{}")
    inputs = {"plan": "main", "pin": "main", "paths": "* manifests"}
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {name: str(one.get("default", "")) for name, one in described["inputs"].items()} | inputs

    def value(match: re.Match[str]) -> str:
        return given[match[1].removeprefix("inputs.")] if match[1].startswith("inputs.") else str(action)

    environ = environment(tmp_path, checkout) | {
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_WORKSPACE": str(checkout),
    }
    for step in described["runs"]["steps"]:
        if "run" in step:
            own = {name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text) for name, text in step["env"].items()}
            bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
            run(step["run"], bash, checkout, environ | own)
    assert {file.name for file in ran.iterdir()} == set()
    assert (tmp_path / "started").read_text().split() == ["--version", "config", "lint", "config", "plan"]


@pytest.mark.thorough  # it installs by the same two commands as the action
def test_the_gitlab_job_runs_nothing_of_the_checkout(tmp_path: Path, action: Path, checkout: Path, ran: Path) -> None:
    committed(checkout)
    work = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", checkout, work], check=True, capture_output=True)
    config = yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())
    package = re.sub("==.*", f"=={VERSION}", config["variables"]["KUBESCHED_PACKAGE"])
    variables = {**config["variables"], "KUBESCHED_PACKAGE": package, "KUBESCHED_PIN": "main", "KUBESCHED_PATHS": "*"}
    script = "\n".join(config["kubesched-lint"]["script"])
    run(script, ["sh", "-e"], work, environment(tmp_path, work) | variables)
    assert {file.name for file in ran.iterdir()} == set()
    assert (tmp_path / "started").read_text().split() == ["config", "lint"]


@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_no_worker_process_imports_from_the_checkout(tmp_path: Path, checkout: Path, ran: Path, way: str) -> None:
    """Where Python does not fork (macOS, Python 3.14), it starts workers with ``-c``, which looks there first."""
    (checkout / "multiprocessing").mkdir()
    (checkout / "multiprocessing" / "__init__.py").write_text(f"open({str(ran / 'multiprocessing')!r}, 'w').close()\n")
    targets = [f'[[targets]]\nname = "{name}"\npaths = ["{name}"]\n' for name in ("one", "two")]
    (checkout / "kubesched.toml").write_text("".join(targets))
    for name in ("one", "two"):
        (checkout / name).mkdir()
        (checkout / name / "pod.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    starts = (
        f"import multiprocessing\nif __name__ == '__main__':\n    multiprocessing.set_start_method('{way}')\n"
        "    from kubesched_lint.cli import main\n    main()\n"
    )
    (tmp_path / "program.py").write_text(starts)
    command = [sys.executable, tmp_path / "program.py", "lint", "--jobs=2", "--no-cache"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "linted in this process" not in done.stderr
    assert not list(ran.iterdir())


RECIPES = [
    ROOT / "action.yml",
    ROOT / "ci" / "pin.sh",
    *(ROOT / "templates").rglob("*.yml"),
    *(ROOT / "packaging").rglob("*.y*ml"),
    ROOT / "docs" / "ci.md",
    ROOT / "docs" / "ci-more.md",
    *(ROOT / "examples").rglob("*.yml"),
    *(ROOT / "examples" / "deploy-gates").glob("*.yaml"),
    ROOT / ".pre-commit-hooks.yaml",
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_recipe_starts_python_or_pip_that_looks_into_the_current_folder(recipe: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", recipe.read_text())  # names in prose
    started = re.findall(r"\bpython3?\"? +(?!-I\b)(?:-\w|\S+\.py\b).*|\bpipx run\b.*|.*\bbin/pip3?\b.*", text)
    assert not started, "start it with -I, and pip as a module of that"


def test_krews_script_does_not_let_pipx_run_what_lies_in_the_folder(tmp_path: Path, ran: Path) -> None:
    (tmp_path / "__pypackages__").mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pipx").write_text(f"#!/bin/sh\n: > {ran}/pipx\n")
    (tools / "pipx").chmod(0o755)
    command = ["/bin/sh", ROOT / "packaging/krew/kubectl-schedlint", "lint", "."]
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pipx would run programs of the folder __pypackages__ here" in done.stderr
    assert not list(ran.iterdir())
