"""``scripts/make_corpus.py``: the same bytes everywhere, and YAML that every parser reads alike."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from kubesched_lint import lint
from scripts.make_corpus import file_of, write

DIGEST = "3f7035acef10de7e32543186db8615b83590e59481b7fd70134e1669fa1541d7"
"""Of the names and texts of the first 500 files: other bytes make figures and comparisons incomparable."""


def test_the_corpus_is_the_same_bytes_everywhere() -> None:
    digest = sha256()
    for number in range(500):
        name, text = file_of(number)
        digest.update(f"{name}\n{text}".encode())
    assert digest.hexdigest() == DIGEST


def test_a_file_does_not_depend_on_how_many_are_written(tmp_path: Path) -> None:
    write(tmp_path, 3)
    files = sorted(tmp_path.rglob("*.yaml"))
    assert {file.name: file.read_text() for file in files} == dict(map(file_of, range(3)))


def test_another_seed_writes_other_files() -> None:
    assert file_of(1, seed=1) != file_of(1, seed=2)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_every_document_is_an_object_whose_strings_stay_strings(start: int) -> None:
    for number in range(start, start + 50):
        for value in yaml.safe_load_all(file_of(number)[1]):
            assert value["kind"]
            assert value["metadata"]["name"].startswith(file_of(number)[0][:-5])
            assert all(isinstance(label, str) for label in value["metadata"]["labels"].values())


def test_kubernetes_would_accept_every_object(tmp_path: Path) -> None:
    write(tmp_path, 100)
    report = lint(tmp_path)
    assert not report.errors
    assert not [finding for finding in report.findings if finding.rule == "api-would-reject"]
