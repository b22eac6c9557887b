"""What a configuration says, or all that is wrong with it, each with its place and a guess."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from kubesched_lint.findings import Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import Options, Override
from kubesched_lint.project.config.file import find_config, read_config
from kubesched_lint.project.config.keys import KEYS, Config, ConfigError
from kubesched_lint.project.config.schema import schema
from kubesched_lint.project.config.toml_places import places
from kubesched_lint.rulebook.library import Rulebook

BOOK = Rulebook.shipped()
SCHEMA = Path(__file__).parents[2] / "kubesched_lint" / "schemas" / "config.schema.json"

EVERYTHING = """\
"$schema" = "https://example.org/config.schema.json"
cluster = "clusters/prod.yaml"
namespace = "shop"
profile = "strict"
rule-folders = ["policies"]
select = ["spread", "anti-affinity-exceeds-domains"]
ignore = ["spread-single-domain"]
apply-order = "helm"
kubernetes-version = "1.34"
feature-gates = "GenericWorkload=true"
scheduler-config = "scheduler.yaml"
elastic = true
node-groups = "complete"
declared-groups = [{name = "gpu", labels = {pool = "gpu"}, taints = ["gpu=yes:NoSchedule"], machine = "g5.xlarge"}]
render = false
partial = true
fail-on = "warning"
max-age = "7d"
min-read = 80
fresh-pods = "12h"
survive = ["hpa-max", "drain"]
strict-skips = true
formats = ["text", "sarif=out/lint.sarif"]
baseline = "known.json"
include-tests = true
exclude = ["legacy/**", "*.gen.yaml"]
workload-folders = ["policies"]
unclaimed = "error"
shadow = true

[rules.deploy-leaves-pending]
most_pods = 500

[rules.toleration-blanket]
severity = "note"
system_namespaces = ["infra-*"]

[[overrides]]
paths = ["charts/**"]
ignore = ["taints"]
severities = { anti-affinity-exceeds-domains = "warning" }

[gitops]
helm = "cache"
"""


def read(folder: Path, written: str, name: str = "kubesched.toml") -> Config:
    (folder / name).write_text(written)
    return read_config(str(folder / name), BOOK)


def faults(folder: Path, written: str, name: str = "kubesched.toml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(folder, written, name)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def test_every_key_is_read_and_remembers_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies").mkdir()
    config = read(tmp_path, EVERYTHING)
    assert {key.name for key in KEYS} == set(config.values), "this test leaves out a key"
    listed = {name: given.value for name, given in config.values.items()}
    assert listed == {
        "cluster": "clusters/prod.yaml",
        "namespace": "shop",
        "profile": "strict",
        "rule-folders": ("policies",),
        "select": ("spread", "anti-affinity-exceeds-domains"),
        "ignore": ("spread-single-domain",),
        "apply-order": "helm",
        "kubernetes-version": "1.34",
        "feature-gates": "GenericWorkload=true",
        "scheduler-config": "scheduler.yaml",
        "elastic": True,
        "node-groups": "complete",
        "declared-groups": listed["declared-groups"],
        "render": False,
        "partial": True,
        "fail-on": "warning",
        "max-age": "7d",
        "min-read": 80,
        "fresh-pods": "12h",
        "survive": ("hpa-max", "drain"),
        "strict-skips": True,
        "formats": ("text", "sarif=out/lint.sarif"),
        "baseline": "known.json",
        "include-tests": True,
        "unclaimed": "error",
        "shadow": True,
        "exclude": ("legacy/**", "*.gen.yaml"),
        "workload-folders": ("policies",),
        "gitops.helm": "cache",
    }
    assert config.values["fail-on"].origin == "kubesched.toml:17"
    (group,) = config.values["declared-groups"].value  # type: ignore[misc]
    assert (group.name, group.labels, [str(taint) for taint in group.taints]) == (
        "gpu",
        {"pool": "gpu"},
        ["gpu=yes:NoSchedule"],
    )
    assert group.shapes[0].allocatable["nvidia.com/gpu"] == 1
    most = config.params["deploy-leaves-pending"]["most_pods"]
    assert (most.value, most.origin) == (500, "kubesched.toml:32")
    assert config.params["toleration-blanket"]["system_namespaces"].value == ("infra-*",)
    assert config.severities["toleration-blanket"].value is Severity.NOTE
    (override,) = config.overrides
    assert override.origin == "kubesched.toml:38"
    assert "untolerated-taints" in override.ignore
    assert override.severities == {"anti-affinity-exceeds-domains": Severity.WARNING}


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            'declared-groups = [{name = "gpu", machin = "g5.xlarge"}]',
            "1:35: unknown key `machin`; did you mean `machine`?",
        ),
        (
            'declared-groups = [{name = "gpu", taints = ["gpu"]}]',
            "1:45: declared-groups[0].taints[0]: 'gpu' is no taint",
        ),
        ("declared-groups = 3", "1:19: declared-groups: expected a list, found the number 3"),
        (
            'feature-gates = "GangScheduling=true"',
            "1:17: feature-gates: GangScheduling needs GenericWorkload=true",
        ),
        (
            'feature-gates = "GangScheduling"',
            "1:17: feature-gates: expected Name=true or Name=false, found 'GangScheduling'",
        ),
        ('node-groups = "all"', '1:15: node-groups: expected one of complete, open, found "all"'),
        ('\nclutser = "x"', "2:1: unknown key `clutser`; did you mean `cluster`?"),
        (
            'profile = "strikt"',
            '1:11: profile: expected one of ci, strict, editor, found "strikt"; did you mean `strict`?',
        ),
        (
            "kubernetes-version = 1.36",
            '1:22: kubernetes-version: expected a string, found 1.36; write "1.36", in quotes',
        ),
        (
            'kubernetes-version = "newest"',
            '1:22: kubernetes-version: "newest" is no Kubernetes version such as 1.36',
        ),
        ('select = "spread"', '1:10: select: expected a list of strings, found "spread"; write ["spread"]'),
        ("ignore = [\n  'spraed',\n]", "2:3: ignore[0]: there is no rule or family `spraed`; did you mean `spread`?"),
        ('elastic = "yes"', '1:11: elastic: expected true or false, found "yes"'),
        (
            'cluster = "live:prod"',
            "1:11: cluster: a configuration cannot connect to a live cluster; use --cluster live",
        ),
        ("namespace = []", "1:13: namespace: expected a string, found []"),
        (
            "[rules.hostport-replicas]",
            "1:8: there is no rule `hostport-replicas`; did you mean `hostport-replicas-exceed-nodes`?",
        ),
        (
            "[rules.spread]\nseverity = 'note'",
            "1:8: `spread` is a family; set each of its rules by name",
        ),
        (
            "[rules.deploy-leaves-pending]\nmost_pod = 5",
            "2:1: deploy-leaves-pending has no parameter `most_pod`; did you mean `most_pods`?",
        ),
        (
            "[rules.deploy-leaves-pending]\nmost_pods = true",
            "2:13: rules.deploy-leaves-pending.most_pods: expected a whole number, found true",
        ),
        (
            "rules.deploy-leaves-pending.most_pods = 0",
            "1:41: rules.deploy-leaves-pending.most_pods: expected at least 1, found 0",
        ),
        (
            "rules.node-loss-leaves-pending = {of = 'zon'}",
            '1:40: rules.node-loss-leaves-pending.of: expected one of node, zone, found "zon"; did you mean `zone`?',
        ),
        (
            "rules.toleration-blanket.severity = 'warn'",
            '1:37: rules.toleration-blanket.severity: expected one of note, warning, error, found "warn"',
        ),
        ("[overrides]\npaths = ['x']", "1:2: expected [[overrides]], with two brackets, found a table"),
        ("[[overrides]]\nignore = ['spread']", "1:1: overrides[0]: an override needs paths, a list of patterns"),
        ("[[overrides]]\npaths = ['x']\nignored = []", "3:1: unknown key `ignored`; did you mean `ignore`?"),
        ("cluster = 'a'\ncluster = 'b'", "2:14: not TOML: Cannot overwrite a value"),
        ("cluster = ", "1:11: not TOML: Invalid value"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, written: str, fault: str) -> None:
    assert [line[: len(fault)] for line in faults(tmp_path, written)] == [fault]


def test_only_a_proof_backs_an_error(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "rules.no-spread-or-anti-affinity.severity = 'error'")
    assert "gives no proof (only pattern)" in fault
    raised = read(tmp_path, "rules.anti-affinity-hpa-max-exceeds-domains.severity = 'error'")
    assert raised.severities["anti-affinity-hpa-max-exceeds-domains"].value is Severity.ERROR


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    written = "[rules.nobody]\n[rules.deploy-leaves-pending]\nmost_pods = 'x'\n[rulez]\n[[overrides]]\n"
    assert [fault.partition(":")[0] for fault in faults(tmp_path, written)] == ["1", "3", "4", "5"]


def test_reports_are_written_only_below_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "way-out").symlink_to("/")
    for file in ("/etc/motd", "../out.json", "a/../../out.json", "way-out/tmp/x.json", ".git/hooks/pre-commit"):
        (fault,) = faults(tmp_path, f'formats = ["json={file}"]')
        assert "may write reports only there" in fault
    assert read(tmp_path, 'formats = ["json=out/a.json"]').values["formats"]


def test_a_pyproject_has_it_in_a_table_of_ours(tmp_path: Path) -> None:
    config = read(tmp_path, '[project]\nname = "x"\n[tool.kubesched-lint]\nprofile = "strict"\n', "pyproject.toml")
    assert config.values["profile"].origin.endswith("pyproject.toml:4")
    assert faults(tmp_path, "[tool.kubesched-lint]\nprofil = 1", "pyproject.toml") == [
        "2:1: unknown key `profil`; did you mean `profile`?"
    ]
    (fault,) = faults(tmp_path, "[project]\n", "pyproject.toml")
    assert "has no table [tool.kubesched-lint]" in fault


def test_what_is_no_text_or_far_too_large_is_one_fault(tmp_path: Path) -> None:
    for data in (b"a = '\xff'", b"# " + b"x" * (1 << 20), b"a = " + b"[" * 100_000):
        (tmp_path / "kubesched.toml").write_bytes(data)
        with pytest.raises(ConfigError) as caught:
            read_config(str(tmp_path / "kubesched.toml"), BOOK)
        assert len(caught.value.problems) == 1


def test_however_deep_it_is_nested_there_is_one_fault_and_no_traceback(tmp_path: Path) -> None:
    for depth in range(50, 1200, 50):
        for opening, closing in (("[", "]"), ("{a = ", "}")):
            assert len(faults(tmp_path, f"namespace = {opening * depth}1{closing * depth}")) == 1


# --- where it lies --------------------------------------------------------------------------------------------------


def test_the_nearest_configuration_upwards_counts_and_none_beyond_the_repository(tmp_path: Path) -> None:
    shop = tmp_path / "repo" / "apps" / "shop"
    shop.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "kubesched.toml").write_text("")
    assert find_config([str(shop)]) is None
    outer = tmp_path / "repo" / "pyproject.toml"
    outer.write_text("[tool.kubesched-lint]\n")
    (shop / "web.yaml").write_text("")
    (shop / "pyproject.toml").write_text("[project]\nthis is not TOML")  # not ours, so nobody minds
    assert find_config([str(shop / "web.yaml"), "elsewhere"]) == str(outer)
    inner = tmp_path / "repo" / "apps" / "kubesched.toml"
    inner.write_text("")
    assert find_config([str(shop)]) == str(inner)


def test_standard_input_and_no_path_start_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubesched.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert find_config(["-"]) == find_config([]) == str(tmp_path / "kubesched.toml")


# --- places ---------------------------------------------------------------------------------------------------------


TRICKY = (Path(__file__).parents[2] / "fixtures" / "config" / "tricky.toml").read_text()


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if path:
        yield path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from leaves(inner, (*path, key))


@pytest.mark.parametrize("written", [TRICKY, EVERYTHING, TRICKY.rstrip("\n")])
def test_every_value_that_tomllib_reads_stands_where_we_say(written: str) -> None:
    found = places(written)
    lines = written.split("\n")
    listed = dict(leaves(tomllib.loads(written)))
    assert set(found) == set(listed)
    for path, value in listed.items():
        spot = found[path]
        rest = "\n".join([lines[spot.value_line - 1][spot.value_column - 1 :], *lines[spot.value_line :]])
        if isinstance(value, dict | list):
            assert rest[0] in "[{" or "." in lines[spot.line - 1], path
            continue
        literal = rest
        while literal:  # the longest text from here on that is one value
            try:
                assert tomllib.loads(f"v = {literal}")["v"] == value
                break
            except tomllib.TOMLDecodeError:
                literal = literal[:-1]
        assert literal, path


# --- patterns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "is_covered"),
    [
        ("legacy/**", "legacy/a/b.yaml", True),
        ("legacy/**", "legacy", False),
        ("legacy/**", "apps/legacy/a.yaml", False),
        ("legacy", "apps/legacy/a.yaml", True),
        ("legacy/", "apps/legacy/a.yaml", True),
        ("/legacy", "apps/legacy/a.yaml", False),
        ("*.gen.yaml", "a/b.gen.yaml", True),
        ("apps/*.yaml", "apps/a.yaml", True),
        ("apps/*.yaml", "apps/shop/a.yaml", False),
        ("apps/**/a.yaml", "apps/a.yaml", True),
        ("apps/**/a.yaml", "apps/x/y/a.yaml", True),
        ("**/test/**", "a/test/b.yaml", True),
        ("**/test/**", "test", False),
        ("**", "a.yaml", True),
        ("./apps", "apps/a.yaml", True),
        ("apps", "../apps/a.yaml", False),
        ("apps", "<stdin>", False),
        ("overlays/prod", "overlays/prod (rendered)", True),
    ],
)
def test_patterns_are_read_as_gitignore_reads_them(pattern: str, path: str, is_covered: bool) -> None:
    assert Globs((pattern,), "/repo", "/repo").covers(path) is is_covered
    assert Globs((pattern,), "/repo", "/repo/deep").covers(f"../{path}") is (is_covered and path != "<stdin>")


def test_the_last_override_that_says_something_wins() -> None:
    every, some = Globs(("*.yaml",), "/r", "/r"), Globs(("legacy/**",), "/r", "/r")
    options = Options(
        severities={"a": Severity.ERROR},
        overrides=(
            Override(every, severities={"a": Severity.WARNING}),
            Override(some, ("b",), {"a": Severity.NOTE}),
        ),
    )
    assert options.severity("a", "x.yaml") is Severity.WARNING
    assert options.severity("a", "legacy/x.yaml") is Severity.NOTE
    assert options.severity("b", "x.yaml") is None
    assert options.ignores("b", "legacy/x.yaml")
    assert not options.ignores("b", "x.yaml")


# --- the schema -----------------------------------------------------------------------------------------------------


def test_the_shipped_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema(BOOK))


@pytest.mark.parametrize(
    "wrong",
    [
        "clutser = 'x'",
        "profile = 'strikt'",
        "kubernetes-version = 1.36",
        "select = 'spread'",
        "elastic = 'yes'",
        "rules.deploy-leaves-pending.most_pod = 1",
        "rules.deploy-leaves-pending.most_pods = 0",
        "rules.no-spread-or-anti-affinity.severity = 'error'",
        "[[overrides]]\nignore = []",
        "[overrides]",
    ],
)
def test_the_schema_and_the_reader_agree(tmp_path: Path, wrong: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    assert validator.is_valid(tomllib.loads(EVERYTHING))
    assert not validator.is_valid(tomllib.loads(wrong))
    assert faults(tmp_path, wrong)
