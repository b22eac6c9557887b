"""``lint --changed`` reads everything and tells what a change touches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Related, Report, Severity, pattern
from kubesched_lint.linter.options import ChangedError
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.project.changed import Changes, changed_lines, changes_since, only_changed
from kubesched_lint.sources.manifests.document import Document, Text
from tests.program import called

ROOT = Path(__file__).parents[2]
ZONES = str(ROOT / "fixtures/clusters/three-zones.yaml")


def git(folder: Path, *args: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shop, committed on ``main``."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "shop"
    shutil.copytree(ROOT / "fixtures/shop", folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "all")
    return folder


def lint(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *args, "--cluster", ZONES, cwd=cwd)


def findings(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    found: list[Any] = json.loads(done.stdout)["findings"]
    return [(f["rule"], f["location"]["path"]) for f in found]


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_nothing_changed_nothing_told(shop: Path) -> None:
    whole = lint(shop, ".", "--format", "json")
    assert whole.returncode == 1
    assert len(findings(whole)) == 4
    done = lint(shop, "--changed", ".", "--format", "json")
    assert done.returncode == 0
    assert findings(done) == []
    assert "only what changed since the last commit is reported; 4 findings elsewhere not shown" in done.stdout


def test_a_changed_document_brings_its_findings_and_no_other(shop: Path) -> None:
    whole = findings(lint(shop, ".", "--format", "json"))
    (shop / "cache.yaml").write_text("# a comment\n" + (shop / "cache.yaml").read_text())
    done = lint(shop, ".", "--changed", "--format", "json")
    assert findings(done) == [f for f in whole if f[1].endswith("cache.yaml")]
    assert 0 < len(findings(done)) < len(whole)


def test_staged_and_new_files_are_changes(shop: Path) -> None:
    (shop / "copy.yaml").write_text((shop / "cache.yaml").read_text().replace("cache", "copy"))
    changed_files = findings(lint(shop, ".", "--changed", "--format", "json"))
    assert changed_files
    assert {Path(path).name for _, path in changed_files} == {"copy.yaml"}
    git(shop, "add", "copy.yaml")
    assert findings(lint(shop, ".", "--changed", "--format", "json")) == changed_files
    git(shop, "commit", "-q", "-m", "copy")
    assert findings(lint(shop, ".", "--changed", "--format", "json")) == []
    assert findings(lint(shop, ".", "--changed=HEAD~1", "--format", "json")) == changed_files


def test_a_base_is_where_the_branch_left_it(shop: Path) -> None:
    git(shop, "checkout", "-q", "-b", "work")
    (shop / "new.yaml").write_text((shop / "cache.yaml").read_text().replace("cache", "new"))
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "new")
    git(shop, "checkout", "-q", "main")
    (shop / "web.yaml").write_text("# changed on main\n" + (shop / "web.yaml").read_text())
    git(shop, "commit", "-q", "-am", "main goes on")
    git(shop, "checkout", "-q", "work")
    for args in (["--changed", "main"], ["--changed=main"]):
        changed_files = findings(lint(shop, ".", *args, "--format", "json"))
        assert {Path(path).name for _, path in changed_files} == {"new.yaml"}


def finding(place: Location, *related: Location, kind: str = "Deployment") -> Finding:
    ref = ObjectRef(kind, "default", "x")
    places = tuple(Related(location, "") for location in related)
    return Finding("r", Severity.WARNING, "m", "", pattern(), ref, place, places)


def at(path: str, first: int, last: int) -> Location:
    return Location(path, Span(first, 1, last, 9))


def test_a_finding_counts_by_its_place_by_related_ones_and_by_its_object(tmp_path: Path) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
    b = str(tmp_path / "b.yaml")
    document = Document(b, 1, "Deployment", "apps/v1", Text(text, {"metadata": {"name": "x"}}), 20, name="x")
    manifests = ManifestSet(documents=(document,))
    a, elsewhere = str(tmp_path / "a.yaml"), str(tmp_path / "c.yaml")
    others = (finding(at(a, 4, 6), kind="Job"), finding(at(elsewhere, 1, 1), at(a, 4, 6), kind="Job"))
    own = finding(at(elsewhere, 1, 1))
    report = Report((*others, own, finding(at(elsewhere, 1, 1), kind="Job")))

    def findings_of(*changed: tuple[str, int, int]) -> tuple[Finding, ...]:
        lines = {path: ((first, last),) for path, first, last in changed}
        return only_changed(Changes("main", lines, (str(tmp_path),)), report, manifests, "default").findings

    assert findings_of((a, 6, 7)) == findings_of((a, 1, 4)) == others
    assert findings_of((a, 1, 3), (a, 7, 9)) == ()
    assert findings_of((b, 22, 22)) == findings_of((b, 20, 20)) == (own,)
    assert findings_of((b, 19, 19)) == findings_of((b, 23, 30)) == ()
    assert findings_of((elsewhere, 1, 1)) == report.findings[1:]


def test_outside_of_git_it_says_so(tmp_path: Path) -> None:
    shutil.copy(ROOT / "fixtures/shop/web.yaml", tmp_path / "web.yaml")
    done = lint(tmp_path, "web.yaml", "--changed")
    assert done.returncode == 2
    assert done.stderr == ("error: --changed: web.yaml is in no git repository, so changes are unknown\n")


def test_a_base_that_is_not_there_is_named(shop: Path) -> None:
    done = lint(shop, ".", "--changed", "origin/main")
    assert done.returncode == 2
    assert done.stderr == f"error: --changed: {shop} has no commit `origin/main`\n"


def test_a_shallow_clone_is_told_what_it_lacks(shop: Path, tmp_path: Path) -> None:
    first = git(shop, "rev-parse", "HEAD").strip()
    git(shop, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "shallow")
    with pytest.raises(ChangedError, match=r"the clone is shallow: fetch more history \(fetch-depth: 0\)"):
        changes_since(first, [str(tmp_path / "shallow")])


def test_histories_without_a_common_commit(shop: Path) -> None:
    git(shop, "checkout", "-q", "--orphan", "other")
    git(shop, "commit", "-q", "-m", "anew")
    with pytest.raises(ChangedError, match="HEAD and `main` have no commit in common"):
        changes_since("main", [str(shop)])


def test_before_the_first_commit_everything_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(tmp_path, "init", "-q")
    (tmp_path / "a.yaml").write_text("a: 1\n")
    assert changes_since("HEAD", [str(tmp_path)]).touches(str(tmp_path / "a.yaml"), 1, 1)
    git(tmp_path, "add", ".")
    assert changes_since("HEAD", [str(tmp_path)]).touches(str(tmp_path / "a.yaml"), 1, 1)


def test_standard_input_always_counts(shop: Path) -> None:
    changes = changes_since("HEAD", ["-", str(shop)])
    assert changes.touches("<stdin>", 1, 1)
    assert not changes.touches(str(shop / "web.yaml"), 1, 1000)


@pytest.mark.parametrize("name", ["with space.yaml", "tab\there.yaml", 'quo"te.yaml', "grün.yaml", "b/+++ x.yaml"])
def test_names_of_all_kinds(shop: Path, name: str) -> None:
    file = shop / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("one\ntwo\nthree\nfour\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "odd")
    file.write_text("one\ntwo\nTHREE\nfour\n")
    changes = changes_since("HEAD", [str(shop)])
    assert changes.touches(str(file), 3, 3)
    assert not changes.touches(str(file), 1, 2)
    assert not changes.touches(str(file), 4, 9)


def test_settings_of_the_user_do_not_matter(shop: Path) -> None:
    for key, value in (("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always")):
        git(shop, "config", key, value)
    git(shop, "config", "diff.external", "/bin/false")
    edit(shop / "web.yaml", "replicas", "replicas")
    (shop / "web.yaml").write_text((shop / "web.yaml").read_text() + "# more\n")
    last = (shop / "web.yaml").read_text().count("\n")
    changes = changes_since("HEAD", [str(shop)])
    assert changes.touches(str(shop / "web.yaml"), last, last)
    assert not changes.touches(str(shop / "web.yaml"), 1, 1)


def test_lines_that_went_touch_their_neighbours(shop: Path) -> None:
    lines = (shop / "web.yaml").read_text().splitlines(keepends=True)
    (shop / "web.yaml").write_text("".join(lines[:4] + lines[6:]))
    changes = changes_since("HEAD", [str(shop)])
    assert [changes.touches(str(shop / "web.yaml"), n, n) for n in range(3, 7)] == [False, True, True, False]


def test_lines_of_a_diff_that_look_like_headers_are_lines() -> None:
    diff = """\
diff --git a/x.yaml b/x.yaml
--- a/x.yaml
+++ b/x.yaml
@@ -3,2 +3,2 @@ spec:
--- a/other.yaml
-@@ -1 +1 @@
+++ b/other.yaml
+@@ -7 +7 @@
\\ No newline at end of file
@@ -9 +9,0 @@
-gone
diff --git a/y.yaml b/y.yaml
--- /dev/null
+++ b/y.yaml
@@ -0,0 +1,5 @@
"""
    assert list(changed_lines(diff.split("\n"))) == [("x.yaml", ((3, 4), (9, 10))), ("y.yaml", ((1, 5),))]
