"""What fuzzing and a search by hand brought up once, each with the one message in which it ends today."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.linter.waivers.waivers import find_waivers
from kubesched_lint.project.baseline import entries_in
from kubesched_lint.project.config.file import read_config
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.rulebook.cards.card import read_card
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import read_cluster

CASES = Path(__file__).parent / "cases"
MANY = "a number of too many digits"

MANIFESTS = {
    "manifest-binary-not-ascii.yaml": (4, 7, "!!binary without valid base64"),
    "manifest-broken-byte-in-a-kind-not-read.yaml": (4, 8, "not UTF-8: byte 0x9a"),
    "manifest-ends-in-a-key.yaml": (5, 9, "a key without its ':'"),
    "manifest-half-a-pair.json": (1, 1, "spec.containers: expected a list"),
    "manifest-kind-of-two-lines.yaml": (3, 29, "metadata.labels.a b: expected a string"),
    "manifest-null-label-hides-a-number.yaml": (3, 42, "metadata.labels.b: expected a string"),
    "manifest-number-of-5000-digits.json": (1, 1, MANY),
}
# Since 3.12 Python's stack holds 990 levels, and reading comes to what else is wrong with the file.
OF_990 = (1, 7056, "metadata: expected a mapping") if sys.version_info >= (3, 12) else (1, 1, "is nested too deeply")
CLUSTERS = {
    "cluster-990-deep.json": OF_990,
    "cluster-bad-byte-behind-an-error.json": (1, 88, "is not valid UTF-8: byte 0xff"),
    "cluster-kind-of-two-lines.yaml": (0, 0, "holds no nodes (1"),
    "cluster-many-labels-many-nodes.yaml": (4, 3, "too many nodes with too many labels"),
    "cluster-number-of-5000-digits.json": (1, 1, MANY),
    "cluster-pools-of-30000-nodes.yaml": (6, 38, "pools[1].min: the minimums add up to more than 20,000 nodes"),
}
CONFIGS = {
    "config-hexadecimal-without-end.toml": (1, 13, "expected a string, found about 2^19999"),
    "config-key-of-many-parts.toml": (1, 1, "a key has more than 1,000 parts"),
    "config-name-too-long.toml": None,
    "config-nul-in-a-name.toml": (1, 12, "a name cannot have the character U+0000"),
    "config-nul-in-a-path.toml": (1, 11, "a name cannot have the character U+0000"),
    "config-number-no-float-holds.toml": (2, 11, "at most 64 bits, found about 2^1328"),
    "config-number-of-5000-digits.toml": (0, 0, MANY),
}
OTHERS = {
    "baseline-number-of-5000-digits.json",
    "card-ends-lines-with-u2028.md",
    "waivers-beside-a-lone-byte.yaml",
}


def test_no_case_is_left_out() -> None:
    assert {file.name for file in CASES.iterdir()} == {*MANIFESTS, *CLUSTERS, *CONFIGS, *OTHERS}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest(name: str) -> None:
    line, column, words = MANIFESTS[name]
    errors = [error for error in lint(CASES / name).errors if words in error.message]
    assert [(error.line, error.column) for error in errors] == [(line, column)]
    assert not [e for e in lint(CASES / name).errors if e.message.startswith("rule ")]
    assert "\n" not in errors[0].message


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster(name: str) -> None:
    with pytest.raises(ClusterError) as caught:
        read_cluster(str(CASES / name))
    line, column, words = CLUSTERS[name]
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration(name: str) -> None:
    wanted = CONFIGS[name]
    if wanted is None:  # a folder that is not there is told of with the rules, not with the configuration
        (fault,) = read_config(str(CASES / name), Rulebook.shipped()).rulebook.faults
        assert "there is no such folder" in fault.message
        return
    with pytest.raises(ConfigError) as caught:
        read_config(str(CASES / name), Rulebook.shipped())
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == wanted[:2]
    assert wanted[2] in problem.message


def test_a_baseline() -> None:
    with pytest.raises(BaselineError, match=MANY):
        entries_in((CASES / "baseline-number-of-5000-digits.json").read_bytes(), "b.json", Rulebook.shipped())


def test_a_card() -> None:
    with pytest.raises(CardError) as caught:
        read_card(CASES / "card-ends-lines-with-u2028.md")
    assert caught.value.line == 2


def test_waivers() -> None:
    text = (CASES / "waivers-beside-a-lone-byte.yaml").read_bytes().decode("utf-8", "surrogateescape")
    assert [waiver.rule for waiver in find_waivers(text)] == ["pvc-missing"]
