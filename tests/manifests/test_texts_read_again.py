"""The texts of documents in files are read again, unless they may hold a waiver or the file has changed."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, checked, entries_of
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests import document
from kubesched_lint.sources.manifests.document import ChangedFileError, Document
from kubesched_lint.sources.manifests.files import find_files
from tests.program import called

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  containers:
  - name: c
    image: registry.example.com/c:1
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedule
      containers:
      - name: c
        image: registry.example.com/c:1
"""


def _documents(folder: Path, *, again: bool = True) -> list[Document]:
    found = [e for e in entries_of(find_files([str(folder)]), again=again) if isinstance(e, Document)]
    for each in found:
        each.release()
    return found


def _write(folder: Path, text: str) -> Path:
    file = folder / "pods.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_each_document_finds_its_own_text_and_values(tmp_path: Path) -> None:
    one, two = POD.format(name="one"), POD.format(name="twö")
    _write(tmp_path, f"\ufeff{one}---\r\n{two}")
    first, second = _documents(tmp_path)
    kept = _documents(tmp_path, again=False)
    assert [first.text, second.text] == [document.text for document in kept]
    assert second.value["metadata"]["name"] == "twö"
    assert same_values([first, second], kept)
    assert hash(first.written) == hash(kept[0].written)


@pytest.mark.parametrize("after", ["", "# another line\n" + POD.format(name="one"), None])
def test_a_file_that_has_changed_is_an_error(tmp_path: Path, after: str | None) -> None:
    file = _write(tmp_path, POD.format(name="one"))
    (document,) = _documents(tmp_path)
    if after is None:
        file.unlink()
    else:
        _write(tmp_path, after)
    with pytest.raises(ChangedFileError, match="changed while it was checked"):
        _ = document.text


def test_a_text_that_may_waive_a_rule_is_kept(tmp_path: Path) -> None:
    text = POD.format(name="one").replace("name: c\n", "name: c  # kubesched-lint: ignore[some-rule] because\n")
    file = _write(tmp_path, text)
    (document,) = _documents(tmp_path)
    file.unlink()
    assert document.text == text
    assert document.written.may_waive


def test_lint_shows_the_lines_of_a_file_that_it_read_twice(tmp_path: Path) -> None:
    _write(tmp_path, POD.format(name="one") + "  nodeSelector:\n    beta.kubernetes.io/os: linux\n")
    run = called("lint", "--no-cache", "--format", "json", str(tmp_path))
    assert run.returncode in (0, 1), run.stderr


def test_a_file_that_changes_between_two_runs_of_a_process_is_read_anew(tmp_path: Path) -> None:
    for name in ("one", "two"):
        _write(tmp_path, POD.format(name=name))
        (document,) = _documents(tmp_path)
        assert f"name: {name}" in document.text


def test_a_file_that_changes_during_a_run_is_one_error_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _write(tmp_path, DEPLOYMENT)
    monkeypatch.setattr(document, "texts_in", lambda file: ())
    report = checked(Request((str(file),), cache=False), Options(), Rulebook.shipped()).report
    assert [(error.path, error.message) for error in report.errors] == [(str(file), ChangedFileError.message)]


def test_few_texts_stay_in_memory_after_their_findings_are_placed(tmp_path: Path) -> None:
    count, length = 600, 40_000
    for number in range(count):
        text = DEPLOYMENT.replace("name: web", f"name: web-{number}")
        (tmp_path / f"{number}.yaml").write_text(f"{text}# {'x' * length}\n")
    request, rulebook = Request((str(tmp_path),), cache=False), Rulebook.shipped()
    tracemalloc.start()
    try:
        run = checked(request, Options(), rulebook)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len({finding.location.path for finding in run.report.findings}) == count
    assert kept < count * length
