"""The GitHub action, the GitLab job and the container file do what they say: their steps run here one by one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dependencies import linked
from tests.share import first

ROOT = Path(__file__).parent.parent.parent
SHOP = ROOT / "fixtures" / "shop"
SKETCH = ROOT / "fixtures" / "clusters" / "three-zones.yaml"


def test_the_files_are_what_the_services_schemas_ask_for() -> None:
    """The published JSON Schemas, as the package check-jsonschema ships them."""
    checker = pytest.importorskip("check_jsonschema")
    runner = pytest.importorskip("click.testing").CliRunner()
    repo = ROOT / "examples" / "shop-repo"
    for schema, files in {
        "github-actions": [ROOT / "action.yml"],
        "github-workflows": [repo / ".github" / "workflows" / "kubesched.yml"],
        "gitlab-ci": [ROOT / "templates" / "gitlab-ci.yml", ROOT / "ci" / "gitlab-ci.yml", repo / ".gitlab-ci.yml"],
    }.items():
        done = runner.invoke(checker.main, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "file",
    ["action.yml", "templates/gitlab-ci.yml", ".pre-commit-hooks.yaml",
     "packaging/mega-linter-plugin-kubesched/kubesched.megalinter-descriptor.yml"],
)  # fmt: skip
def test_each_gate_fails_where_nothing_was_judged(file: str) -> None:
    calls = [line for line in (ROOT / file).read_text().splitlines() if "--require-node-groups" in line]
    assert calls
    assert all("--require-workloads" in line for line in calls)


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return found


def step(name: str) -> dict[str, Any]:
    (found,) = (one for one in action()["runs"]["steps"] if one["name"] == name)
    return dict(found)


@pytest.fixture
def work(tmp_path: Path, program: Path) -> Path:
    """A folder as GitHub's runner has it, with our work tree installed where the action puts it."""
    install(program, tmp_path / "temp" / "kubesched-lint")
    shutil.copytree(SHOP, tmp_path / "work" / "my manifests")
    shutil.copy(SKETCH, tmp_path / "work" / "cluster.yaml")
    return tmp_path / "work"


def install(program: Path, home: Path) -> None:
    """Put the program where ``pip`` puts it in a virtual environment."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "kubesched-lint").symlink_to(program)
    (home / "bin" / "python").symlink_to(sys.executable)


def run_step(
    folder: Path, work: Path, found: dict[str, Any], inputs: dict[str, str]
) -> tuple[int, str, dict[str, str]]:
    """Runs a ``run:`` step with its ``env:`` filled in as GitHub does; exit code, output and the outputs it set."""
    given = {name: str(one.get("default", "")) for name, one in action()["inputs"].items()} | inputs
    assert set(given) == set(action()["inputs"])

    def value(match: re.Match[str]) -> str:
        return given[match[1].removeprefix("inputs.")] if match[1].startswith("inputs.") else str(ROOT)

    variables = {name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text) for name, text in found["env"].items()}
    assert "${{" not in found["run"], "an input pasted into a script is a command of whoever wrote it"
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environ = {**os.environ, **variables, "RUNNER_TEMP": str(folder / "temp")}
    environ |= {name: str(path) for name, path in files.items()}
    files["GITHUB_OUTPUT"].write_text("")
    files["GITHUB_STEP_SUMMARY"].write_text("")
    # GitHub runs bash steps with these flags.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
    done = subprocess.run(command, cwd=work, env=environ, capture_output=True, text=True, check=False)
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return done.returncode, done.stdout + done.stderr, outputs


def test_the_action_annotates_lines_and_fails_the_job(tmp_path: Path, work: Path) -> None:
    inputs = {"paths": "my manifests\n", "cluster": "cluster.yaml"}
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs)
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert "::error file=my manifests/cache.yaml,line=18,endLine=20,title=anti-affinity-exceeds-domains" in shown
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "anti-affinity-exceeds-domains" in summary


def test_the_action_writes_the_reports_that_are_asked_for(tmp_path: Path, work: Path) -> None:
    inputs = {
        "paths": "my manifests\ncluster.yaml",
        "formats": "text\nsarif=out.sarif\n",
        "args": "--ignore\nanti-affinity-exceeds-domains\n--cluster=cluster.yaml",
        "fail-on": "never",
        "profile": "strict",
        "summary": "false",
    }
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs)
    assert (code, outputs) == (0, {"exit-code": "0"}), shown
    assert "error[" in shown
    assert "anti-affinity-exceeds-domains" not in shown
    assert json.loads((work / "out.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == ""


def test_the_action_checks_the_targets_of_a_repository(tmp_path: Path, work: Path) -> None:
    shutil.copytree(ROOT / "examples" / "targets-repo", work, dirs_exist_ok=True)
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), {"paths": ""})
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert shown.count("title=nodeselector-matches-nothing") == 1
    assert "targets: prod-eu, prod-us" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text().replace("**", "")


def test_inputs_are_words_and_never_commands(tmp_path: Path, work: Path) -> None:
    inputs = {
        "paths": '$(touch a) `touch b`; touch c & "d" *',
        "cluster": "$(touch e)",
        "args": "--namespace\n;touch f",
    }
    code, _, outputs = run_step(tmp_path, work, step("Lint"), inputs)
    assert code == 2
    assert outputs == {"exit-code": "2"}
    assert {path.name for path in work.iterdir()} == {"my manifests", "cluster.yaml"}


def committed(folder: Path) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for args in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "all")):
        subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


def weaken(work: Path) -> None:
    """What a pull request does that wants to pass."""
    (work / "kubesched.toml").write_text('fail-on = "never"\n')
    (work / "cluster.yaml").write_text((work / "cluster.yaml").read_text().replace("count: 2", "count: 200"))
    (work / ".kubesched-pinned.toml").symlink_to("kubesched.toml")


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("kubesched.toml", 'fail-on = "error"\n'),
        ("pyproject.toml", '[tool.kubesched-lint]\nfail-on = "error"\n'),
        ("pyproject.toml", '[project]\nname = "other"\n'),
    ],
)
def test_what_is_pinned_is_judged_as_the_base_says(tmp_path: Path, work: Path, name: str, base: str) -> None:
    (work / name).write_text(base)
    committed(work)
    weaken(work)
    inputs = {
        "paths": "my manifests\n",
        "cluster": "cluster.yaml",
        "pin": "main",
        "formats": "text",
        "summary": "false",
    }
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs | {"pin": ""})
    assert code == 0, "the pull request has weakened the gate"
    assert 'kubesched.toml makes the gate weaker: fail-on = "never"' in shown
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs)
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert "makes the gate weaker" not in shown
    assert (work / "kubesched.toml").read_text() == 'fail-on = "never"\n', "nothing is written through a link"


def test_a_configuration_in_pyproject_is_pinned_as_well(tmp_path: Path, work: Path) -> None:
    """Here the base asks for less than the default, so that it shows whose word is in force."""
    (work / "pyproject.toml").write_text('[tool."kubesched-lint"]\nfail-on = "never"\n')
    committed(work)
    (work / "pyproject.toml").write_text("")
    inputs = {"paths": "my manifests\n", "cluster": "cluster.yaml", "formats": "text", "summary": "false"}
    assert run_step(tmp_path, work, step("Lint"), inputs)[0] == 1
    code, shown, _ = run_step(tmp_path, work, step("Lint"), inputs | {"pin": "main"})
    assert code == 0, shown
    assert "kubesched-pinned-pyproject.toml" in shown


def enlarge(work: Path) -> None:
    """A pull request that makes every cluster fit: a larger one, one more label, and a link in place of a file."""
    for file in (work / "clusters").iterdir():
        file.write_text(file.read_text().replace("general", "genral").replace("3920m", "7910m"))
    (work / "clusters" / "prod-us.yaml").unlink()
    (work / "clusters" / "prod-us.yaml").symlink_to("prod-eu.yaml")


def test_the_clusters_of_pinned_targets_are_those_of_the_base(tmp_path: Path, work: Path) -> None:
    """Three targets, in a folder of the repository whose configuration also names a file above it."""
    top, work = work, work / "deploy" / "here"
    shutil.copytree(ROOT / "examples" / "targets-repo", work)
    shutil.copy(work / "clusters" / "edge.yaml", top / "edge.yaml")
    config = (work / "kubesched.toml").read_text()
    (work / "kubesched.toml").write_text(config.replace("clusters/edge.yaml", "../../edge.yaml"))
    committed(top)
    enlarge(work)
    inputs = {"paths": ".", "formats": "text", "summary": "false"}
    code, shown, _ = run_step(tmp_path, work, step("Lint"), inputs)
    assert code == 0, f"the pull request has weakened the gate: {shown}"
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs | {"pin": "main"})
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert "= targets: prod-eu, prod-us" in shown
    assert "error[resource-exceeds-any-node]" in shown
    assert "in 3 targets (prod-eu, prod-us, edge)" in shown


BARE_POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: c, image: i}]}
"""


def with_judges(work: Path, program: Path) -> None:
    """A repository with a baseline that has nothing, and a rule of its own that finds an error."""
    shutil.copytree(ROOT / "examples" / "rules", work / "rules")
    shutil.rmtree(work / "my manifests")
    (work / "my manifests").mkdir()
    (work / "my manifests" / "pod.yaml").write_text(BARE_POD)
    (work / "none").mkdir()
    write = [program, "baseline", "write", "-o", "known.json", "my manifests", "--select", "spread-unsatisfiable"]
    subprocess.run(write, cwd=work, check=True, capture_output=True)


def accept(work: Path, program: Path) -> None:
    """A pull request that puts what it brings on the baseline."""
    write = [program, "baseline", "write", "-o", "known.json", "my manifests", "--rules", "rules"]
    subprocess.run(write, cwd=work, check=True, capture_output=True)


def lower(work: Path, program: Path) -> None:
    """A pull request that weakens the rule."""
    card = work / "rules" / "no-bare-pods.md"
    card.write_text(card.read_text().replace("severity: error", "severity: note"))


def remove(work: Path, program: Path) -> None:
    """A pull request that deletes the rule that the configuration names."""
    (work / "rules" / "no-bare-pods.md").unlink()


@pytest.mark.parametrize(
    ("weaken", "is_by_argument"),
    first(3, [(accept, False), (lower, True), (remove, False), (accept, True), (lower, False), (remove, True)]),
)
def test_baseline_and_own_rules_are_those_of_the_base(
    tmp_path: Path, work: Path, program: Path, weaken: Callable[[Path, Path], None], *, is_by_argument: bool
) -> None:
    with_judges(work, program)
    config = 'baseline = "known.json"\nrule-folders = ["rules"]\n[rules.no-bare-pods]\nseverity = "error"\n'
    (work / "kubesched.toml").write_text("" if is_by_argument else config)
    committed(work)
    weaken(work, program)
    if weaken is not accept:
        (work / "kubesched.toml").write_text("" if is_by_argument else config.partition("[rules.")[0])
    args = f"--baseline=known.json\n--rules\n{work}/rules" if is_by_argument else ""
    inputs = {"paths": "my manifests\n", "args": args, "formats": "text", "summary": "false"}
    code, shown, _ = run_step(tmp_path, work, step("Lint"), inputs)
    assert code == 0, f"the pull request has weakened the gate: {shown}"
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs | {"pin": "main"})
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert "error[no-bare-pods]" in shown


def test_arguments_name_no_configuration_beside_a_pin(tmp_path: Path, work: Path) -> None:
    committed(work)
    for args in ("--config=mine.toml", "--config\nmine.toml"):
        inputs = {"paths": "my manifests\n", "args": args, "pin": "main"}
        code, shown, outputs = run_step(tmp_path, work, step("Lint"), inputs)
        assert (code, outputs) == (2, {"exit-code": "2"})
        assert "args cannot name a configuration" in shown


def test_a_pinned_configuration_whose_cluster_is_not_there_fails(tmp_path: Path, work: Path) -> None:
    shutil.copytree(ROOT / "examples" / "targets-repo", work, dirs_exist_ok=True)
    (work / "clusters" / "edge.yaml").unlink()
    committed(work)
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), {"paths": ".", "pin": "main"})
    assert (code, outputs) == (2, {"exit-code": "2"})
    assert "it lacks a file that its configuration or an argument names" in shown


def test_a_folder_that_looks_like_a_repository_is_not_pinned(tmp_path: Path, work: Path) -> None:
    """The job runs in a folder where the pull request brings a bare repository, whose main has a weak gate."""
    base, fake = work / "deploy", tmp_path / "fake"
    (base / "shop").mkdir(parents=True)
    shutil.copytree(SHOP, base / "shop", dirs_exist_ok=True)
    shutil.copy(SKETCH, base / "cluster.yaml")
    committed(work)
    shutil.copytree(base, fake)
    weaken(fake)
    committed(fake)
    shutil.copytree(fake / ".git", base, dirs_exist_ok=True)
    subprocess.run(["git", "config", "--file", "config", "core.worktree", base], cwd=base, check=True)
    inputs = {"paths": "shop", "cluster": "cluster.yaml", "pin": "main", "summary": "false"}
    code, shown, _ = run_step(tmp_path, base, step("Lint"), inputs)
    assert code == 2, shown
    assert "cannot use bare repository" in shown


@pytest.mark.parametrize("pin", ["nowhere", "--version", "-h"])
def test_a_pin_that_is_no_commit_is_told(tmp_path: Path, work: Path, pin: str) -> None:
    committed(work)
    code, shown, outputs = run_step(tmp_path, work, step("Lint"), {"paths": "my manifests\n", "pin": pin})
    assert (code, outputs) == (2, {"exit-code": "2"})
    assert "there is no such commit here" in shown


def test_every_input_is_used_and_every_one_says_what_it_is_for() -> None:
    text = (ROOT / "action.yml").read_text()
    for name, one in action()["inputs"].items():
        assert one["description"].endswith((".", "lint."))
        assert f"inputs.{name} " in text or f"inputs.{name}\n" in text


def standing_in_for_venv(folder: Path, locked: Path) -> Path:
    """Return a folder with a ``python3`` that makes virtual environments in which pip fetches only what builds.

    ``virtualenv`` makes what ``venv`` makes, pip included, in a sixth of the time. The environment's ``python`` takes
    the packages of the tests for those of the lock files: these are 40 MB.
    """
    build = f"--quiet --no-deps --only-binary :all: --require-hashes --requirement {locked / 'build.txt'}"
    python = f"""#!/bin/sh
here=$(dirname "$0")
case "$*" in *" --require-hashes "*" {locked}/core.txt"*)
    echo {linked(folder / "dependencies")} > "$(echo "$here"/../lib/python3.*/site-packages)/linked.pth"
    exec "$here/python-itself" -I -m pip install {build} ;;
esac
exec "$here/python-itself" "$@"
"""
    (folder / "python").write_text(python)
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").write_text(f"""#!/bin/sh
[ "$1 $2 $3 $4" = "-I -m venv --clear" ] || exit 9
{sys.executable} -I -m virtualenv -q "$5" && cd "$5/bin" && mv python python-itself && install {folder / "python"} .
""")
    (folder / "bin" / "python3").chmod(0o755)
    return folder / "bin"


@pytest.mark.parametrize("extras", ["dask", "../core", "solver,dask"])
def test_an_extra_without_a_lock_file_is_told(tmp_path: Path, extras: str) -> None:
    (tmp_path / "temp").mkdir()
    code, shown, _ = run_step(tmp_path, tmp_path, step("Install kubesched-lint"), {"extras": extras})
    assert code == 2
    assert "::error title=kubesched-lint::extras: the action can install solver and cel, and no other" in shown
    assert not list((tmp_path / "temp").iterdir())


def test_what_the_container_copies_is_enough_to_install_from_and_the_action_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No container engine runs here: the same copies are made into a folder, and the action's own step installs it."""
    tools = standing_in_for_venv(tmp_path, tmp_path / "src" / "kubesched_lint" / "locked")
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    lines = (ROOT / "Containerfile").read_text().splitlines()
    copies = [line.split()[1:] for line in lines if line.startswith("COPY ") and "--from" not in line]
    for *sources, target in copies:
        for source in sources:
            where = tmp_path / "src" / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, where, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                where.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, where)
    installing = step("Install kubesched-lint")
    installing["env"]["ACTION_PATH"] = str(tmp_path / "src")
    (tmp_path / "temp").mkdir()
    work = tmp_path / "work"
    shutil.copytree(SHOP, work)
    code, shown, _ = run_step(tmp_path, work, installing, {})
    assert code == 0, shown
    tool = tmp_path / "temp" / "kubesched-lint" / "bin" / "kubesched-lint"
    done = subprocess.run([tool, "lint", ".", "-c", SKETCH], cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error[anti-affinity-exceeds-domains]" in done.stdout
    cards = subprocess.run([tool, "rules", "explain", "spread-unsatisfiable"], capture_output=True, check=False)
    assert cards.returncode == 0, cards.stderr
    custom = subprocess.run([tool, "workloads", "explain", "LeaderWorkerSet"], capture_output=True, check=False)
    assert custom.returncode == 0, custom.stderr


def test_the_container_has_bytecode_that_counts_whatever_the_times_are(tmp_path: Path) -> None:
    """The recipe's options are tried on two modules: copies into an image change times, and runs may write nothing."""
    text = (ROOT / "Containerfile").read_text()
    (options,) = re.findall(r"-m compileall (.*) \\$", text, re.MULTILINE)
    assert len(set(re.findall(r"PYTHONPYCACHEPREFIX=(/opt/kubesched-lint/\S+)", text))) == 1
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    for package in ("ours", "kubernetes"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("said = 'compiled'")
    compiling = [sys.executable, "-B", "-m", "compileall", *shlex.split(options), tmp_path]
    subprocess.run(compiling, env=environ, check=True)
    assert [file.parent.name for file in (tmp_path / "bytecode").rglob("*.pyc")] == ["ours"]
    (tmp_path / "ours" / "__init__.py").write_text("said = 'read again'")
    done = subprocess.run(
        [sys.executable, "-B", "-c", "import ours; print(ours.said)"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "compiled\n"


def test_the_container_runs_as_nobody_and_holds_no_build_tools() -> None:
    lines = [line.strip() for line in (ROOT / "Containerfile").read_text().splitlines() if line and line[0] != "#"]
    last = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert not [line for line in last if line.startswith("RUN")]
    (user,) = (line.split()[1] for line in last if line.startswith("USER "))
    assert all(part.isdigit() and int(part) > 0 for part in user.split(":"))
    assert 'ENTRYPOINT ["kubesched-lint"]' in last


def gitlab_script(job: dict[str, Any], program: Path) -> str:
    """What the job runs, with this program in place of what it installs."""
    folder, installing, pin, lint = job["script"]
    assert '"$KUBESCHED_PACKAGE"' in installing
    links = {"kubesched-lint": program, "python": sys.executable}
    linking = (f'ln -s {shlex.quote(str(file))} "$kubesched/env/bin/{name}"' for name, file in links.items())
    return "\n".join([folder, 'mkdir -p "$kubesched/env/bin"', *linking, pin, lint])


def gitlab_codes(
    program: Path, base: Path, change: Callable[[Path], None], branches: Sequence[str], variables: Mapping[str, str]
) -> list[int]:
    """The exit codes of the GitLab job on a changed clone of ``base``, for each branch that is pinned."""
    config = yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())
    script = gitlab_script(config["kubesched-lint"], program)
    work = base.parent / "work"
    committed(base)
    subprocess.run(["git", "clone", "-q", base, work], check=True, capture_output=True)
    change(work)
    codes = []
    for branch in branches:
        environ = {**os.environ, **config["variables"], **variables, "KUBESCHED_PIN": branch}
        done = subprocess.run(["sh", "-c", script], cwd=work, env=environ, capture_output=True, check=False)
        codes.append(done.returncode)
    return codes


def test_the_gitlab_job_judges_as_the_branch_says_that_is_pinned(tmp_path: Path, program: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(SHOP, base / "shop")
    shutil.copy(SKETCH, base / "cluster.yaml")
    variables = {"KUBESCHED_PATHS": "shop", "KUBESCHED_CLUSTER": "cluster.yaml"}
    assert gitlab_codes(program, base, weaken, ("", "main", "nowhere"), variables) == [0, 1, 2]


def test_the_gitlab_job_pins_the_clusters_of_targets(tmp_path: Path, program: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(ROOT / "examples" / "targets-repo", base)
    assert gitlab_codes(program, base, enlarge, ("", "main"), {}) == [0, 1]


@pytest.mark.parametrize("weaken", first(1, [accept, lower, remove]))
def test_the_gitlab_job_pins_baseline_and_own_rules(
    tmp_path: Path, program: Path, weaken: Callable[[Path, Path], None]
) -> None:
    base = tmp_path / "base"
    (base / "my manifests").mkdir(parents=True)
    with_judges(base, program)
    (base / "my manifests").rename(base / "manifests")
    (base / "kubesched.toml").write_text('baseline = "known.json"\n')

    def change(work: Path) -> None:
        (work / "manifests").rename(work / "my manifests")
        weaken(work, program)
        (work / "my manifests").rename(work / "manifests")

    variables = {"KUBESCHED_PATHS": "manifests", "KUBESCHED_ARGS": "--rules rules"}
    assert gitlab_codes(program, base, change, ("", "main"), variables) == [0, 1]


def test_the_gitlab_job_writes_the_reports_it_hands_over(tmp_path: Path, program: Path) -> None:
    config = yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())
    job = config["kubesched-lint"]
    shutil.copytree(SHOP, tmp_path / "shop")
    shutil.copy(SKETCH, tmp_path / "my cluster.yaml")
    variables = config["variables"] | {"KUBESCHED_PATHS": "shop", "KUBESCHED_CLUSTER": "my cluster.yaml"}
    done = subprocess.run(
        ["sh", "-c", gitlab_script(job, program)],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    quality = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert {"shop/cache.yaml"} <= {issue["location"]["path"] for issue in quality}
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).read_text().startswith("<?xml")
