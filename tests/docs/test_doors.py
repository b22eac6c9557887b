"""What a newcomer meets first: licence, templates, CI and hooks agree with what they point to."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from hashlib import md5
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def test_the_licence_is_the_one_that_the_metadata_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert project["license-files"] == ["LICENSE"]
    text = (ROOT / "LICENSE").read_bytes()
    assert md5(text).hexdigest() == "3b83ef96387f14655fc854ddc3c6bd57", "the text of apache.org, unchanged"


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
USING = [
    *WORKFLOWS,
    ROOT / "action.yml",
    ROOT / "docs/ci.md",
    ROOT / "docs/ci-more.md",
    ROOT / "examples/deploy-gates/github-actions.yml",
    ROOT / "examples/shop-repo/.github/workflows/kubesched.yml",
]


def test_ci_runs_what_the_readme_says() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step] == [".ci/run"]
    assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("file", USING, ids=lambda file: str(file.relative_to(ROOT)))
def test_actions_of_others_cannot_change(file: Path) -> None:
    """A tag can be moved, a commit cannot; the comment says which version it is."""
    used = re.findall(r"^\s*(?:- )?uses: (.*)$", file.read_text(), re.MULTILINE)
    others = [one for one in used if not one.startswith("example/kubesched-lint@")]
    assert others
    for one in others:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one), one


def test_every_file_uses_one_version_of_an_action() -> None:
    used = {
        line for file in USING for line in re.findall(r"uses: (\S+@[0-9a-f]{40} .*)$", file.read_text(), re.MULTILINE)
    }
    assert len({line.split("@")[0] for line in used}) == len(used), sorted(used)


def test_the_base_images_cannot_change() -> None:
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", bases[0])


def test_the_image_of_the_gitlab_job_cannot_change() -> None:
    """Its component has the same one: test_catalogues compares all variables."""
    image = yaml.safe_load((ROOT / "templates/gitlab-ci.yml").read_text())["variables"]["KUBESCHED_IMAGE"]
    assert re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-\w+@sha256:[0-9a-f]{64}", image)


def test_recipes_name_images_with_their_digests() -> None:
    recipes = [
        ROOT / "docs/ci.md",
        ROOT / "docs/ci-more.md",
        *(ROOT / "examples/deploy-gates").iterdir(),
        *(ROOT / "examples").rglob(".gitlab-ci.yml"),
        *(ROOT / "templates").rglob("*.yml"),
    ]
    texts = [file.read_text() for file in recipes]
    named = [name for text in texts for name in re.findall(r"^ *(?:- )?image: (\S+/\S+)", text, re.MULTILINE)]
    assert named
    assert not [name for name in named if "@sha256:" not in name]


def test_a_release_publishes_without_a_stored_secret() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"push": {"tags": ["v[0-9]*"]}}  # YAML reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert jobs["pypi"]["environment"]["name"] == "pypi"
    assert "secrets." not in text
    attesting = [name for name, job in jobs.items() if "attest-build-provenance" in str(job["steps"])]
    assert attesting == ["build", "image"]
    for name in attesting:
        assert jobs[name]["permissions"].items() >= {"id-token": "write", "attestations": "write"}.items()


def test_no_step_of_a_workflow_pastes_a_value_into_a_script() -> None:
    for file in WORKFLOWS:
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            assert not [step["run"] for step in job["steps"] if "${{" in step.get("run", "")]


@pytest.mark.parametrize("name", [file.name for file in WORKFLOWS])
def test_the_workflow_is_what_github_asks_for(name: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, ROOT / ".github/workflows" / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda f: str(f.stem))
def test_an_issue_form_asks_for_something(form: Path) -> None:
    found: dict[str, Any] = yaml.safe_load(form.read_text())
    assert found["name"]
    assert found["description"]
    ids = [field["id"] for field in found["body"]]
    assert len(set(ids)) == len(ids) > 0
    assert all(field["attributes"]["label"] for field in found["body"])


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("scripts: do this\n\nwhy\n", 0),
        ("scripts, tests: do this\n", 0),
        ("Do this\n", 1),
        ("fix things\n", 1),
        (f"scripts: {'x' * 70}\n", 1),
    ],
)
def test_the_hook_holds_commit_subjects_to_their_form(message: str, code: int, tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (hook,) = (hook for hook in hooks if hook["id"] == "commit-subject")
    assert hook["language"] == "pygrep"
    pytest.importorskip("pre_commit")
    file = tmp_path / "message"
    file.write_text(message)
    command = [sys.executable, "-m", "pre_commit.languages.pygrep", *hook["args"], hook["entry"], str(file)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == code


def test_the_path_of_the_gitlab_template_of_0_1_leads_to_it() -> None:
    (include,) = yaml.safe_load((ROOT / "ci/gitlab-ci.yml").read_text())["include"]
    assert (ROOT / include["local"]).is_file()


PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "docs/versioning.md",
    *(ROOT / "docs/decisions").glob("*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_links_lead_somewhere(page: Path) -> None:
    for path, heading in re.findall(r"\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)", page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), path
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert heading in [h.lower().replace(" ", "-") for h in headings], (path, heading)


PACKAGE = ROOT / "kubesched_lint"
MADE_UP = re.compile(r"^dist/|shiny|my.hazard")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_files_and_functions_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    files = {name for name in re.findall(r"`([a-z_]+/[\w./-]*)`", text) if not MADE_UP.search(name)}
    functions = set(re.findall(r"`(?:\w+/)*([a-z_]+)\.([a-z_]+)`", text))
    assert len(files) > 15
    wrong = {name for name in files if not is_file(name)}
    wrong |= {f"{module}.{name}" for module, name in functions if not is_function(module, name)}
    assert not wrong, f"{page} names what is not there: {wrong}"


def is_file(name: str) -> bool:
    """Whether a name is a file or a folder: ``tests/scenarios``, ``cli/``, ``lint/run.checked``."""
    module = re.sub(r"\.[a-z_]+$", ".py", name) if "." in name else f"{name}.py"
    return (ROOT / name).exists() or any(any(PACKAGE.rglob(part)) for part in (name, module))


def is_function(module: str, name: str) -> bool:
    """Whether a module of the package defines a name; true for what is no module, such as ``spec.shiny``."""
    texts = [file.read_text() for file in PACKAGE.rglob(f"{module}.py")]
    defined = re.compile(rf"^(def|class) {name}\b", re.MULTILINE)
    return name in ("py", "svg") or not texts or any(map(defined.search, texts))


def test_every_decision_has_its_headings_and_is_listed() -> None:
    listed = (ROOT / "docs/decisions/README.md").read_text()
    numbers = []
    for page in sorted((ROOT / "docs/decisions").glob("0*.md")):
        text = page.read_text()
        number, title = re.fullmatch(r"# (\d+)\. (.+)", text.split("\n")[0]).groups()
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
        assert f"{number}. [{title}]({page.name})" in listed
        numbers.append(int(number))
    assert numbers == sorted(set(numbers)), "a number is given once; what a decision replaces may be gone"


def test_contributing_names_files_that_are_there() -> None:
    named = set(re.findall(r"`((?:kubesched_lint|tests|scripts|docs|benchmarks)/[\w./-]+)`", PAGES[0].read_text()))
    missing = {path for path in named if not (ROOT / path).exists()}
    assert missing == {"kubesched_lint/report/findings/as_shiny.py", "kubesched_lint/checks/my_hazard.py"}


def test_the_recipes_that_pages_name_are_in_the_justfile() -> None:
    recipes = set(re.findall(r"^([a-z-]+)(?: [^:=\n]*)?:$", (ROOT / "justfile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`?just ([a-z][a-z-]+)", page.read_text())}
    assert named <= recipes
    assert {"new-rule", "coverage", "release", "generate"} <= recipes


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: str(page.stem))
def test_what_a_page_imports_exists(page: Path) -> None:
    for module, names in re.findall(r"^from (kubesched_lint[\w.]*) import ([\w, ]+)$", page.read_text(), re.MULTILINE):
        missing = [name for name in names.split(", ") if not hasattr(import_module(module), name)]
        assert not missing, module
