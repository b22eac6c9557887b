"""What others' catalogues take from here: GitLab's component, MegaLinter's descriptor, SchemaStore's entry."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator

from kubesched_lint.project.config.file import NAME
from tests.docs.test_ci_files import ROOT, SHOP, SKETCH, gitlab_script
from tests.program import called
from tests.shapes import assert_shape

COMPONENT = ROOT / "templates" / "lint" / "template.yml"
PLUGIN = ROOT / "packaging" / "mega-linter-plugin-kubesched" / "kubesched.megalinter-descriptor.yml"
ENTRY = json.loads((ROOT / "editors" / "schemastore.json").read_text())
INPUT = re.compile(r"\$\[\[ inputs\.([a-z-]+) \]\]")

# --- GitLab's component -----------------------------------------------------------------------------------------------


def with_inputs(**given: str) -> dict[str, Any]:
    """The configuration that GitLab makes of the component: inputs filled in, and merged over the file it includes."""
    header, text = COMPONENT.read_text().split("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]
    assert set(given) <= set(inputs), "GitLab refuses an input that is not declared"
    assert set(INPUT.findall(text)) == set(inputs)
    values = {name: one["default"] for name, one in inputs.items()} | given
    config = filled(yaml.safe_load(text), values)
    for include in config.pop("include"):
        config = merged(yaml.safe_load((ROOT / include["local"]).read_text()), config)
    return config


def filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(part, values) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, values) for part in value]
    return INPUT.sub(lambda found: values[found[1]], value) if isinstance(value, str) else value


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """GitLab merges mappings key by key; anything else gives way."""
    both = {key: merged(below[key], above[key]) for key in below.keys() & above.keys() if isinstance(below[key], dict)}
    return {**below, **above, **both}


def test_the_component_is_a_job_that_gitlab_takes(tmp_path: Path) -> None:
    checker = pytest.importorskip("check_jsonschema")
    runner = pytest.importorskip("click.testing").CliRunner()
    file = tmp_path / "ci.yml"
    file.write_text(yaml.safe_dump(with_inputs(stage="lint")))
    done = runner.invoke(checker.main, ["--builtin-schema", "vendor.gitlab-ci", str(file)])
    assert done.exit_code == 0, done.output
    assert with_inputs(stage="lint")["kubesched-lint"]["stage"] == "lint"


def test_the_component_has_an_input_for_every_variable_of_the_template() -> None:
    template = yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())
    assert with_inputs()["kubesched-lint"]["variables"] == template["variables"]


def test_the_component_lints_what_its_inputs_name(tmp_path: Path, program: Path) -> None:
    shutil.copytree(SHOP, tmp_path / "shop")
    shutil.copy(SKETCH, tmp_path / "my cluster.yaml")
    job = with_inputs(paths="shop", cluster="my cluster.yaml", args="--ignore resource-exceeds-any-node")[
        "kubesched-lint"
    ]
    script = gitlab_script(job, program)
    environ = {**os.environ, **job["variables"]}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environ, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    quality = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert "anti-affinity-exceeds-domains" in {issue["check_name"] for issue in quality}
    assert "resource-exceeds-any-node" not in {issue["check_name"] for issue in quality}


# --- MegaLinter's descriptor ------------------------------------------------------------------------------------------

TEXT, WORDS, FLAG = str, [str], bool
DESCRIPTOR = {
    "descriptor_id": TEXT,
    "descriptor_label": TEXT,
    "descriptor_type": ("language", "format", "tooling_format", "other"),
    "file_extensions": WORDS,
    "file_contains_regex": WORDS,
    "linters": [{
        "linter_name": TEXT,
        "name": TEXT,
        "linter_url": TEXT,
        "linter_repo": TEXT,
        "linter_spdx_license": TEXT,
        "linter_text": TEXT,
        "linter_rules_url": TEXT,
        "linter_rules_configuration_url": TEXT,
        "linter_rules_inline_disable_url": TEXT,
        "linter_rules_ignore_config_url": TEXT,
        "cli_lint_mode": ("file", "project", "list_of_files"),
        "cli_version_arg_name": TEXT,
        "cli_help_arg_name": TEXT,
        "cli_lint_extra_args": WORDS,
        "cli_lint_extra_args_after": WORDS,
        "can_output_sarif": FLAG,
        "cli_sarif_args": WORDS,
        "cli_lint_errors_count": ("regex_number", "regex_count", "regex_sum", "total_lines"),
        "cli_lint_errors_regex": TEXT,
        "examples": WORDS,
        "install": {"dockerfile": WORDS},
    }],
}  # fmt: skip
"""The part of megalinter-descriptor.jsonschema.json that we use, as of MegaLinter 9; it takes no other property."""


def linter() -> dict[str, Any]:
    (found,) = yaml.safe_load(PLUGIN.read_text())["linters"]
    return dict(found)


def test_megalinter_takes_the_descriptor() -> None:
    descriptor = yaml.safe_load(PLUGIN.read_text())
    assert_shape(descriptor, DESCRIPTOR)
    assert {"descriptor_id", "descriptor_type", "linters"} <= set(descriptor)
    assert {"linter_name", "linter_url", "examples"} <= set(linter())
    assert descriptor["descriptor_id"].isupper()
    # plugin_factory.py refuses another address, and runs no other instruction.
    assert re.search(r"/mega-linter-plugin-[^/]+/[^/]+\.megalinter-descriptor\.yml$", str(PLUGIN))
    for instruction in linter()["install"]["dockerfile"]:
        assert instruction.startswith("RUN ")
        assert subprocess.run(["bash", "-n", "-c", instruction[4:]], check=False).returncode == 0


def test_megalinter_counts_the_errors_of_the_whole_set(tmp_path: Path) -> None:
    shutil.copytree(SHOP, tmp_path / "shop")
    shutil.copy(SKETCH, tmp_path / "cluster.yaml")
    (tmp_path / NAME).write_text('cluster = "cluster.yaml"\n')
    found = linter()
    sarif = [word.replace("{{SARIF_OUTPUT_FILE}}", "out.sarif") for word in found["cli_sarif_args"]]
    done = called(*found["cli_lint_extra_args"], *sarif, *found["cli_lint_extra_args_after"], cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    errors = re.findall(found["cli_lint_errors_regex"], done.stdout)
    results = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert len(errors) == sum(result["level"] == "error" for result in results) == 2
    for example in found["examples"]:
        program, *words = shlex.split(example)
        assert program == found["linter_name"]
        assert called(*words, cwd=tmp_path).returncode == 1
    for word in (found["cli_version_arg_name"], found["cli_help_arg_name"]):
        assert called(word).returncode == 0


# --- SchemaStore's entry ----------------------------------------------------------------------------------------------


def test_schemastore_takes_the_entry() -> None:
    """The checks of its cli.js on catalog.json."""
    assert set(ENTRY) == {"name", "description", "fileMatch", "url"}
    for text in (ENTRY["name"], ENTRY["description"]):
        assert "schema" not in text.lower()
        assert not re.search(r"[,. \t-]$|\n", text)
    assert ENTRY["fileMatch"] == [NAME], "no other tool's file"


def test_the_entry_leads_to_the_schema_of_the_configuration() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    repository = project["urls"]["Changelog"].removeprefix("https://github.com/").split("/blob/")[0]
    start = f"https://raw.githubusercontent.com/{repository}/main/"
    assert ENTRY["url"].startswith(start)
    assert (ROOT / ENTRY["url"].removeprefix(start)).is_file()


@pytest.mark.parametrize("validator", [Draft202012Validator, Draft7Validator], ids=["2020-12", "draft-07"])
def test_an_editor_that_knows_only_an_old_draft_judges_the_same(validator: Any) -> None:
    schema = json.loads((ROOT / "kubesched_lint" / "schemas" / "config.schema.json").read_text())
    check = validator(schema)
    for file in (ROOT / "examples").glob(f"*/{NAME}"):
        assert not list(check.iter_errors(tomllib.loads(file.read_text()))), file
    for wrong in ({"clusters": "a"}, {"fail-on": "loud"}, {"select": [1]}, {"targets": [{"nam": "a"}]}):
        assert list(check.iter_errors(wrong)), wrong
