"""A configuration that a stranger brings along: every report says what it weakens, and it reaches nothing outside."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from kubesched_lint.project.config.file import find_config, read_config
from kubesched_lint.project.config.keys import KEYS, ConfigError
from kubesched_lint.project.weakening import in_force
from kubesched_lint.rulebook.own import rulebook_with
from tests.program import called

ROOT = Path(__file__).parents[2]
BOOK = rulebook_with()
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
PENDING = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    "spec: {nodeSelector: {disk: none}, containers: [{name: c, image: i}]}\n"
)
NODES = (
    "apiVersion: kubesched-lint.io/v1alpha1\nkind: ClusterSketch\nnodes:\n"
    "- {name: a, count: 2, cpu: 4, memory: 8Gi, labels: {disk: ssd}}\n"
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "a.yaml").write_text(PENDING)
    (folder / "cluster.yaml").write_text((ROOT / "fixtures/seeds/B6/cluster.yaml").read_text())
    monkeypatch.chdir(folder)
    return folder


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *args, cwd=folder)


def said(folder: Path, written: str) -> str:
    (folder / "kubesched.toml").write_text(written)
    config = read_config("kubesched.toml", BOOK)
    return in_force(config, config.values)


# --- what is said ---------------------------------------------------------------------------------------------------


WEAKENING = {
    "fail-on": ('fail-on = "never"', 'fail-on = "never"'),
    "ignore": ('ignore = ["spread"]', 'ignore = ["spread"]'),
    "profile": ('profile = "editor"', 'profile = "editor"'),
    "elastic": ("elastic = true", "elastic = true"),
    "node-groups": ('node-groups = "open"', 'node-groups = "open"'),
    "partial": ("partial = true", "partial = true"),
    "render": ("render = false", "render = false"),
    "shadow": ("shadow = true", "shadow = true"),
    "severities": (
        '[rules.deploy-leaves-pending]\nseverity = "note"',
        "lower severity of deploy-leaves-pending",
    ),
}
DECIDING = {
    "select": ('select = ["spread"]', 'select = ["spread"]'),
    "exclude": ('exclude = ["**"]', 'exclude = ["**"]'),
    "declared-groups": ('declared-groups = [{name = "gpu"}]', "declared-groups = [gpu]"),
    "kubernetes-version": ('kubernetes-version = "1.30"', 'kubernetes-version = "1.30"'),
    "feature-gates": ('feature-gates = "A=true"', 'feature-gates = "A=true"'),
    "cluster": ('cluster = "cluster.yaml"', 'cluster = "cluster.yaml"'),
    "scheduler-config": ('scheduler-config = "s.yaml"', 'scheduler-config = "s.yaml"'),
    "fresh-pods": ('fresh-pods = "1h"', 'fresh-pods = "1h"'),
    "baseline": ('baseline = "known.json"', 'baseline = "known.json"'),
    "workload-folders": ('workload-folders = ["ops"]', 'workload-folders = ["ops"]'),
    "rule-folders": ('rule-folders = ["rules"]', 'rule-folders = ["rules"]'),
    "parameters": ("[rules.deploy-leaves-pending]\nmost_pods = 3", "parameters of deploy-leaves-pending"),
    "overrides": ('[[overrides]]\npaths = ["a/**"]\nignore = ["spread"]', "overrides for a/**"),
}
"""What may make the gate weaker, or stricter: the line names it and does not judge."""
STRICTER = (
    'fail-on = "note"',
    'profile = "strict"',
    "elastic = false",
    'node-groups = "complete"',
    "partial = false",
    "render = true",
    "strict-skips = true",
    "exclude = []",
    "include-tests = true",
    'max-age = "7d"',
    'survive = ["drain"]',
    'fail-on = "error"',
)


@pytest.mark.parametrize("what", WEAKENING)
def test_everything_that_weakens_the_gate_is_said(repository: Path, what: str) -> None:
    written, expected = WEAKENING[what]
    assert said(repository, written) == f"kubesched.toml makes the gate weaker: {expected}"


@pytest.mark.parametrize("what", DECIDING)
def test_everything_that_decides_what_is_found_is_said(repository: Path, what: str) -> None:
    written, expected = DECIDING[what]
    assert said(repository, written) == f"kubesched.toml sets {expected}"


def test_what_weakens_comes_before_what_may_do_so(repository: Path) -> None:
    assert said(repository, 'exclude = ["old"]\nfail-on = "never"\nselect = ["spread"]') == (
        'kubesched.toml makes the gate weaker: fail-on = "never"; it sets exclude = ["old"]; select = ["spread"]'
    )


@pytest.mark.parametrize("written", STRICTER)
def test_what_asks_for_more_or_the_same_is_not(repository: Path, written: str) -> None:
    assert said(repository, written) == "kubesched.toml makes nothing weaker"


def test_every_key_is_judged() -> None:
    """A new key of the configuration has to be thought about here."""
    harmless = {
        "namespace",
        "apply-order",
        "strict-skips",
        "formats",
        "include-tests",
        "max-age",
        "min-read",
        "survive",
        "unclaimed",
        "gitops.helm",
    }
    assert {key.name for key in KEYS} - harmless <= {*WEAKENING, *DECIDING}


def test_many_settings_stay_one_line(repository: Path) -> None:
    many = ", ".join(f'"{"x" * 60}{n}/**"' for n in range(500))
    line = said(repository, f'fail-on = "never"\nexclude = [{many}]\nignore = ["spread", "storage"]\n')
    assert "\n" not in line
    assert len(line) < 400
    assert "and 497 more" in line


def test_a_name_of_two_lines_stays_one_line(repository: Path) -> None:
    assert "\n" not in said(repository, 'exclude = ["a\\nconfig  kubesched.toml makes nothing weaker"]')


FORMATS = ("text", "json", "sarif", "markdown", "html", "github", "junit")


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_says_it(repository: Path, form: str) -> None:
    (repository / "kubesched.toml").write_text('fail-on = "never"\nelastic = true\ncluster = "cluster.yaml"\n')
    done = lint(repository, "manifests", "--format", form)
    assert done.returncode == 0
    plain = done.stdout.replace("&quot;", '"').replace("&#34;", '"').replace('\\"', '"').replace("\\=", "=")
    lines = [text for text in plain.splitlines() if "makes the gate weaker" in text]
    assert len(lines) == 1, done.stdout
    for part in ('fail-on = "never"', "elastic = true", 'cluster = "cluster.yaml"'):
        assert part in re.sub(r"\\(.)", r"\1", lines[0])


def test_a_flag_that_overrules_it_makes_it_harmless(repository: Path) -> None:
    (repository / "kubesched.toml").write_text('fail-on = "never"\ncluster = "cluster.yaml"\n')
    done = lint(repository, "manifests", "--format", "json", "--fail-on", "error", "--cluster", "cluster.yaml")
    assert json.loads(done.stdout)["summary"]["configuration"] == "kubesched.toml makes nothing weaker"


def test_waivers_and_baseline_are_counted_in_the_same_line(repository: Path) -> None:
    rule = first_rule(repository)
    waived = PENDING.replace("disk: none}", f"disk: none}}  # kubesched: ignore[{rule}] we know\n ")
    (repository / "manifests" / "b.yaml").write_text(waived.replace("name: a", "name: b"))
    args = ("manifests", "--format", "json", "-c", "cluster.yaml")
    line = json.loads(lint(repository, *args).stdout)["summary"]["configuration"]
    assert line == "no configuration; 1 finding waived in the files"
    done = called("baseline", "write", "manifests", "-c", "cluster.yaml", "-o", "b.json", cwd=repository)
    assert done.returncode == 0, done.stderr
    line = json.loads(lint(repository, *args, "--baseline", "b.json").stdout)["summary"]["configuration"]
    assert line == "no configuration; 1 finding waived in the files; 1 known from b.json"


def first_rule(repository: Path) -> str:
    done = lint(repository, "manifests", "--format", "json", "-c", "cluster.yaml")
    found = json.loads(done.stdout)
    assert "configuration" not in found["summary"], "nothing is in force"
    rule: str = found["findings"][0]["rule"]
    return rule


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_report_of_a_fleet_says_it(repository: Path, form: str) -> None:
    (repository / "kubesched.toml").write_text('fail-on = "never"\n')
    (repository / "clusters").mkdir()
    for name in ("a", "b"):
        (repository / "clusters" / f"{name}.yaml").write_text((repository / "cluster.yaml").read_text())
    done = called("fleet", "manifests", "--clusters", "clusters", "--format", form)
    assert done.returncode == 0
    said = 'kubesched.toml makes the gate weaker: fail-on = "never"'
    assert done.stdout.replace('\\"', '"').count(said) == (1 if form == "text" else 3)


@pytest.mark.parametrize("command", [["simulate", "manifests"], ["why", "a", "manifests"]])
def test_simulate_and_why_say_it_beside_their_report(repository: Path, command: list[str]) -> None:
    (repository / "kubesched.toml").write_text('cluster = "cluster.yaml"\n')
    done = called(*command, "--format", "json")
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)
    assert 'config: kubesched.toml sets cluster = "cluster.yaml"\n' in done.stderr


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, check=True)


@pytest.mark.parametrize("edited", ["kubesched.toml", "cluster.yaml", "scheduler.yaml", ""])
def test_a_change_that_edits_what_judges_it_is_told(repository: Path, edited: str) -> None:
    (repository / ".git").rmdir()
    (repository / "kubesched.toml").write_text('cluster = "cluster.yaml"\nscheduler-config = "scheduler.yaml"\n')
    (repository / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "all")
    if edited:
        with (repository / edited).open("a") as file:
            file.write("# more\n")
    done = lint(repository, "manifests", "--changed", "--format", "json")
    line = json.loads(done.stdout)["summary"]["configuration"]
    assert line.endswith(f"; the change edits files that affect its own check: {edited}") == bool(edited)


# --- where it comes from --------------------------------------------------------------------------------------------


def test_none_is_taken_from_above_the_repository(repository: Path) -> None:
    (repository.parent / "kubesched.toml").write_text('fail-on = "never"\n')
    for path in ("manifests", ".", "manifests/a.yaml", str(repository / "manifests")):
        assert find_config([path]) is None
    (repository / "kubesched.toml").write_text("")
    assert find_config(["manifests"]) == str(repository / "kubesched.toml")


def test_nor_from_above_the_current_folder_where_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work" / "manifests").mkdir(parents=True)
    (tmp_path / "kubesched.toml").write_text('fail-on = "never"\n')
    monkeypatch.chdir(tmp_path / "work")
    assert find_config(["manifests"]) is None
    assert find_config([]) is None
    (tmp_path / "work" / "kubesched.toml").write_text("")
    assert find_config(["manifests"]) == str(tmp_path / "work" / "kubesched.toml")
    monkeypatch.chdir("/")
    assert find_config([str(tmp_path / "work" / "manifests")]) is None, "of a folder elsewhere only its own"
    assert find_config([str(tmp_path / "work")]) == str(tmp_path / "work" / "kubesched.toml")


def test_a_link_into_a_repository_of_others_brings_no_configuration(repository: Path) -> None:
    other = repository.parent / "other"
    (other / ".git").mkdir(parents=True)
    (other / "kubesched.toml").write_text('fail-on = "never"\n')
    (repository / "way").symlink_to("../other")
    done = lint(repository, "way", "--format", "json")
    assert done.returncode == 2


def test_a_configuration_that_is_no_file_is_told(repository: Path) -> None:
    (repository / "kubesched.toml").symlink_to("nowhere")
    done = lint(repository, "manifests")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: kubesched.toml: cannot be read: no such file")


SECRET = "hunter2 = nobody's business\n"


@pytest.mark.parametrize("key", ["cluster", "baseline", "rule-folders"])
@pytest.mark.parametrize("name", ["../secret", "/etc", "~/secret", "way-out", "manifests/../../secret"])
def test_it_names_nothing_outside_the_repository(repository: Path, key: str, name: str) -> None:
    (repository.parent / "secret").write_text(SECRET)
    (repository / "way-out").symlink_to("../secret")
    value = f'["{name}"]' if key == "rule-folders" else f'"{name}"'
    (repository / "kubesched.toml").write_text(f"{key} = {value}\n")
    with pytest.raises(ConfigError, match=r"kubesched\.toml:1:\d+: .*lies outside .*use a flag"):
        read_config("kubesched.toml", BOOK)
    done = lint(repository, "manifests")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hunter2" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_configuration_that_a_person_keeps_elsewhere_names_what_it_likes(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "kubesched.toml").write_text('cluster = "../sketches/prod.yaml"\n')
    assert (
        read_config(str(tmp_path / "ours" / "kubesched.toml"), BOOK).values["cluster"].value == "../sketches/prod.yaml"
    )


def test_a_message_about_it_quotes_no_other_file(repository: Path) -> None:
    (repository.parent / "secret").write_text(SECRET)
    (repository / "kubesched.toml").symlink_to("../secret")
    for args in (("manifests",), ("manifests", "--config", "kubesched.toml")):
        done = lint(repository, *args)
        assert done.returncode == 2
        assert "hunter2" not in done.stdout + done.stderr
        assert "a link that leads out of the repository" in done.stderr
