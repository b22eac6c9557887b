"""CODEOWNERS: the examples of GitHub's and GitLab's documentation, and where each looks for the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Report, Severity, pattern
from kubesched_lint.project.codeowners import code_owners, parsed
from kubesched_lint.project.owners import NO_NAMESPACE, NOBODY, with_owners

GITHUB = parsed(
    """\
# a comment
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/github
/charts/* @charts
!negated @nobody
[ab] @nobody
with\\ blank/ @blank
""",
    is_gitlab=False,
)


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("web.yaml", "@global-owner1 @global-owner2"),
        ("deep/down/x.js", "@js-owner"),
        ("x.go", "docs@example.com"),
        ("x.txt", "@octo-org/octocats"),
        ("build/logs/a/b", "@octocat"),  # the last line that matches wins: **/logs
        ("build/other", "@global-owner1 @global-owner2"),
        ("docs/a.md", "@doctocat"),
        ("docs/build-app/a.md", "@doctocat"),
        ("other/docs/a.md", "@global-owner1 @global-owner2"),  # a slash inside: from the root
        ("other/apps/x/y", "@octocat"),
        ("apps/github", ""),
        ("apps/github/x", ""),
        ("charts/web.yaml", "@charts"),
        ("charts/web/values.yaml", "@global-owner1 @global-owner2"),  # unlike in .gitignore
        ("scripts", "@global-owner1 @global-owner2"),  # a file, where a folder is named
        ("negated", "@global-owner1 @global-owner2"),
        ("with blank/x", "@blank"),
    ],
)
def test_github_lets_the_last_line_win(path: str, owners: str) -> None:
    assert " ".join(GITHUB.of(path)) == owners


GITLAB = parsed(
    """\
* @default
\\#file @hash

[Documentation][2] @docs-team
docs/
README.md
/ee/docs/ @product

[documentation]
*.rst

^[Optional] @optional
*.md
/infra/** @infra

[Excluding] @all
*.rb
!/vendor/
"""
)


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("main.c", "@default"),
        ("#file", "@hash"),
        ("docs/a/b", "@default @docs-team"),
        ("other/docs/a", "@default @docs-team"),  # without a leading slash: anywhere
        ("docs", "@default"),
        ("README.md", "@default @docs-team"),
        ("ee/docs/x", "@default @product"),
        ("x.rst", "@default @docs-team"),  # sections of one name are one
        ("x.rb", "@default @all"),
        ("vendor/x.rb", "@default"),
    ],
)
def test_gitlab_joins_the_last_lines_of_all_sections(path: str, owners: str) -> None:
    assert " ".join(GITLAB.of(path)) == owners


def test_optional_sections_own_what_no_other_does() -> None:
    owners = parsed("[A] @a\n/a/\n^[B] @b\n/a/\n/b/\n")
    assert [owners.of(path) for path in ("a/x", "b/x", "c/x")] == [("@a",), ("@b",), ()]


def test_without_sections_a_path_without_a_slash_at_its_end_is_a_file_for_gitlab_alone() -> None:
    text = "/apps @apps\n"
    assert parsed(text).of("apps/web.yaml") == ("@apps",)
    assert parsed(text, is_gitlab=True).of("apps/web.yaml") == ()


@pytest.mark.parametrize(
    ("files", "owner"),
    [
        ({"CODEOWNERS": "* @root", ".github/CODEOWNERS": "* @github", "docs/CODEOWNERS": "* @docs"}, "@github"),
        ({"CODEOWNERS": "* @root", "docs/CODEOWNERS": "* @docs"}, "@root"),
        ({"docs/CODEOWNERS": "* @docs", ".gitlab/CODEOWNERS": "* @gitlab"}, "@docs"),
        ({".gitlab/CODEOWNERS": "* @gitlab"}, "@gitlab"),
        ({".gitlab-ci.yml": "", ".gitlab/CODEOWNERS": "[X] @x\n*"}, "@x"),
    ],
)
def test_each_has_its_places(tmp_path: Path, files: dict[str, str], owner: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    owners = code_owners(str(tmp_path))
    assert owners is not None
    assert owners.of("web.yaml") == (owner,)


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("* @secret")
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "CODEOWNERS").symlink_to("../secret")
    assert code_owners(str(repo)) is None


def finding(path: str, namespace: str = "shop") -> Finding:
    place = Location(path, Span(1, 1, 1, 2))
    return Finding("a-rule", Severity.ERROR, "m", "h", pattern(), ObjectRef("Deployment", namespace, "web"), place)


def test_findings_get_the_owners_of_their_files_and_else_their_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path)
    report = Report((finding("app/web.yaml"), finding("other.yaml"), finding("<stdin>", "")))
    without = [one.owner for one in with_owners(report).findings]
    assert without == ["namespace shop", "namespace shop", NO_NAMESPACE]
    (tmp_path / "CODEOWNERS").write_text("/app/ @org/app @lead\n")
    assert [one.owner for one in with_owners(report).findings] == ["@org/app @lead", NOBODY, NO_NAMESPACE]
