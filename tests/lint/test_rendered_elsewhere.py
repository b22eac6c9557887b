"""Objects that a controller renders in the cluster are told, with the command that prints what they apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

RELEASE = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}}\n"
APPLICATION = "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: NAME}}\n"


def notes(folder: Path, text: str) -> list[str]:
    (folder / "objects.yaml").write_text(text)
    report = check(Request((str(folder),)), Options(), Rulebook.shipped())
    return [note for note in report.summary.notes if "not rendered" in note]


@pytest.mark.parametrize(
    ("text", "command"), [(RELEASE, "helm template NAME CHART"), (APPLICATION, "argocd app manifests NAME")]
)
def test_an_object_is_told_with_its_place_and_a_command(tmp_path: Path, text: str, command: str) -> None:
    (note,) = notes(tmp_path, text)
    assert "objects.yaml:1" in note
    assert f"{command}" in note
    assert note.endswith("| kubesched-lint lint -")


def test_many_objects_of_a_kind_are_one_note(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, "---\n".join(APPLICATION.replace("NAME", f"a{n}") for n in range(3)))
    assert note.startswith("3 Applications (")
    assert "and 2 more" in note


@pytest.mark.parametrize("other", ["helm.toolkit.fluxcd.io/v2", "example.com/v1"])
def test_the_group_counts(tmp_path: Path, other: str) -> None:
    assert notes(tmp_path, APPLICATION.replace("argoproj.io/v1alpha1", other)) == []
