"""Every edit is held against a reader that shares no line with ours: what goes wrong here is not written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kubesched_lint.commands.fix import workspace
from kubesched_lint.commands.fix.search import Mended, mend
from kubesched_lint.commands.fix.workspace import OpenFile
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.changes import Append, Change, Put
from kubesched_lint.sources.manifests.editing import Splice, splice_of
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.yaml.second_reader import Made, objection

BOOK = Rulebook.shipped()
WEB = """\
# Owned by the shop team.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3   # one a zone
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: web}}
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: shop}
data: {mode: "0600"}
"""


def mended(folder: Path, text: str = WEB) -> Mended:
    file = folder / "web.yaml"
    file.write_text(text)
    manifests = manifest_set(documents(str(file), text.encode(), is_read), "default")
    options, rules = Options(), BOOK.select()
    report = suppress(lint(manifests, None, options, rules)[0], manifests, BOOK, rules, options)
    return mend(manifests, None, options, BOOK, report)


def test_a_right_edit_has_nothing_against_it(tmp_path: Path) -> None:
    found = mended(tmp_path)
    assert (found.fixed, found.refused) == (1, ())
    (open_file,) = found.open_files
    assert b"matchLabelKeys: [pod-template-hash]" in open_file.data


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("web:1.0", "web:1.1", "reads other values"),
        ("replicas: 3 ", "replicas: 4 ", "reads other values"),
        ("   # one a zone", "", "a comment would be lost or moved"),
        ("  # one a zone\n", " # one a zone # or two\n", "a comment would be lost or moved"),
        ("{name: web, image:", "&web {name: web, other: *wab, image:", "cannot read the change"),
    ],
)
def test_an_edit_that_does_more_than_it_says_is_caught_and_the_file_left(
    right: str, wrong: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert right in WEB

    def splice_and_more(text: str, change: Change) -> Splice:
        whole = splice_of(text, change)(text).replace(right, wrong)
        return Splice(0, len(text), whole)

    monkeypatch.setattr(workspace, "splice_of", splice_and_more)
    if "*wab" in wrong:  # the loader itself would stumble
        after = splice_and_more(WEB.split("---")[0], CHANGE)("")
        assert words in objection(WEB.split("---")[0], after, [Made(17, CHANGE)])
        return
    found = mended(tmp_path)
    assert found.open_files == ()
    assert found.fixed == 0
    (refusal,) = found.refused
    assert refusal.startswith(f"{tmp_path / 'web.yaml'}:")
    assert words in refusal


CHANGE = Append(
    ("spec", "template", "spec", "topologySpreadConstraints", 0, "matchLabelKeys"),
    "pod-template-hash",
    after=("labelSelector",),
)


def test_an_edit_that_touches_another_document_is_caught() -> None:
    after = splice_of(WEB.split("---\n")[0], CHANGE)(WEB.split("---\n")[0]) + "---\n" + WEB.split("---\n")[1]
    assert objection(WEB, after, [Made(18, CHANGE)]) == ""
    assert "other values" in objection(WEB, after.replace('"0600"', "0600"), [Made(18, CHANGE)])
    assert "other documents" in objection(WEB, after.replace("---\n", ""), [Made(18, CHANGE)])
    assert "other values" in objection(WEB, after, []), "nothing was to change"
    assert "other values" in objection(WEB, WEB, [Made(17, CHANGE)]), "what was to change has not"


def test_words_are_read_as_kubectl_reads_them_behind_a_marker_too() -> None:
    for head in ("", "---\n", "%YAML 1.2\n---\n"):
        before = f"{head}mode: 0600\non: yes\nday: 2026-11-21\nlong: 1e3\n"
        line = before.count("\n")
        assert objection(before, before.replace("0600", "384"), [Made(line, Put(("mode",), 384))]) == ""
        assert objection(before, before.replace("yes", "true"), []) == ""
        assert objection(before, before.replace("2026-11-21", '"2026-11-21"'), []) == ""
        assert "other values" in objection(before, before.replace("0600", "600"), [])


@pytest.mark.parametrize(
    "text", ["a: !Odd {b: 1}\n", "a: 1\na: 1\n", "a: \udcff\n", "{a: 1}\n...\nb: 1\n", '{"a": 1} {"b": 2}\n']
)
def test_where_it_cannot_read_the_file_as_it_was_it_says_nothing(text: str) -> None:
    assert objection(text, text.replace("1", "2"), [Made(1, Put(("a",), 3))]) == ""


def test_json_is_read_as_json_and_must_stay_readable() -> None:
    before = json.dumps({"a": {"b": 1}, "c": "# no comment"}, indent="\t")
    change = Put(("a", "d"), [True])
    after = splice_of(before, change)(before)
    assert objection(before, after, [Made(2, change)]) == ""
    assert "other values" in objection(before, after.replace("true", "1"), [Made(2, change)])
    assert "cannot read" in objection(before, after + "}", [Made(2, change)])


def test_each_change_counts_in_its_own_document() -> None:
    before = "# head\n---\na: 1\n---\n# only a comment\n---\na: 1 # one"
    changes = [Made(3, Put(("a",), 2)), Made(7, Put(("a",), 3)), Made(7, Put(("b",), 4))]
    after = "# head\n---\na: 2\n---\n# only a comment\n---\na: 3 # one\nb: 4"
    assert objection(before, after, changes) == "", "the last line is the eighth by now; the seventh is in it too"
    assert "other values" in objection(before, after, changes[:-1])


def test_comments_are_those_that_a_scanner_finds() -> None:
    before = 'a: "# no"\nb: |  # yes\n  # no\nc: [x, # yes\n  y#no]\nd: >-\n  # no\n\n# yes\ne: x # yes\n'
    for words in ("# yes\ne", "  # yes\n  # no", "# yes\n  y"):
        assert "comment" in objection(before, before.replace(words, words.replace("# yes", ""), 1), [])
    for gone in ("# no", "y#no"):
        assert "other values" in objection(before, before.replace(gone, "y"), [])


def test_nothing_of_it_is_loaded_where_nothing_is_fixed(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "web.yaml").write_text(WEB)
    code = "import sys\nfrom kubesched_lint.cli.app import app\ntry:\n    app(['lint', '--no-config', 'web.yaml'])\n"
    code += "except SystemExit:\n    pass\nassert not any('ruamel' in name for name in sys.modules)"
    root = str(Path(__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": root, "PATH": ""}, check=True, timeout=60
    )


def test_a_file_that_was_not_touched_has_nothing_to_read() -> None:
    open_file = OpenFile("x.yaml", WEB.encode(), WEB.encode(), (), in_kustomization=False, unrendered=False)
    assert open_file.objection() == ""
