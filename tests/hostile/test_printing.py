"""Strings of strangers drive no terminal, hide nothing and command no CI runner, in any format and on any stream."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Evidence, Finding, InputError, Related, Report, Severity, Skip, Summary
from kubesched_lint.printing import cells_of, is_obeyed, json_text, safe_json, visible, visible_lines
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.formats import FORMATS, renderer
from tests.program import called

ROOT = Path(__file__).parents[2]
HOSTILE = {
    "escape": "a\x1b[31mb",
    "title": "a\x1b]0;x\x07b",
    "conceal": "a\x1b[8mb",
    "nul": "a\x00b",
    "backspace": "a\x08b",
    "return": "good\rbad",
    "line": "a\n::error::b",
    "form feed": "a\x0cb",
    "delete": "a\x7fb",
    "csi of C1": "a\x9b31mb",
    "next line": "a\x85::error::b",
    "right to left": "a\u202eb",
    "isolate": "a\u2067b\u2069",
    "arabic mark": "a\u061cb",
    "marks": "a\u200eb\u200f",
    "line separator": "a\u2028::error::b",
    "paragraph": "a\u2029b",
    "zero width": "we\u200bb",
    "joiner in ASCII": "we\u200db",
    "selector in ASCII": "web\ufe0f",
    "byte order": "\ufeffweb",
    "soft hyphen": "we\u00adb",
    "word joiner": "we\u2060b",
    "filler": "web\u3164",
    "tags": "web\U000e0041\U000e0042",
    "github": "::error file=x::y",
    "github mask": "  ::add-mask::a",
    "github stop": "::stop-commands::token",
    "github in the middle": "text ::set-output name=a::b",
    "github thrice": ":::error::x",
    "github old": "##[error]x",
    "github old in the middle": "text ##[add-path]x",
    "azure": "##vso[task.setvariable variable=a]b",
    "azure in the middle": "text\t##vso[task.complete result=Succeeded;]",
    "azure in capitals": "##VSO[task.complete]",
    "many signs": "####[error]x",
    "team city": "##teamcity[buildStatus status='SUCCESS']",
    "markup": "</script><img src=x onerror=alert(1)>",
    "surrogate": "a\udc9bb",
}
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\U000e0000-\U000e0fff]"
)
_COMMAND = re.compile(r"::[a-z]|##[a-z]*\[", re.I)
_OF_OURS = re.compile(r"^::(error|warning|notice) ", re.M)


def assert_harmless(text: str, *, is_github: bool = False) -> None:
    text = _OF_OURS.sub("", text) if is_github else text
    assert not (found := _HARMFUL.search(text)), repr(text[max(0, found.start() - 60) : found.end() + 20])
    if is_github:  # what follows the second pair of colons of our own command is data
        text = re.sub(r"^(file=[^:\n]*)::", r"\1 ", text, flags=re.M)
    assert not (found := _COMMAND.search(text)), repr(text[max(0, found.start() - 60) : found.end() + 20])


# --- the one place --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_string_becomes_one_harmless_line(text: str) -> None:
    assert_harmless(visible(text))
    assert "\n" not in visible(text)
    assert visible(visible(text)) == visible(text)
    assert_harmless(visible_lines(text))
    assert (
        "".join(cells_of(text.replace("\n", " "))) == visible(text.replace("\n", " ")).replace("\u2409", "\t")
        or "\t" in text
    )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_means_the_same(text: str) -> None:
    shown = json_text({"a": text, text: ["::", "##"]}, 2)
    assert_harmless(shown)
    assert json.loads(shown) == {"a": text, text: ["::", "##"]}
    assert safe_json(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain", "two  blanks", "10.0.0.1", "fe80::1", "::1", "a: b", "# note", "## head", "商店", "é", "e\u0301",
        "👩‍💻", "⚠️", "می‌خواهم", "क्‍ष", "a – b … c → d", "arn:aws:iam::123:role",
    ],
)  # fmt: skip
def test_what_deceives_nobody_stays(text: str) -> None:
    assert visible(text) == text
    assert visible_lines(text) == text


@pytest.mark.parametrize(("before", "stays"), [("", 0), ("b", 0), ("\u058f", 0), ("\u0590", 1), ("\U0010ffff", 1)])
@pytest.mark.parametrize("joiner", ["\u200c", "\u200d", "\ufe00", "\ufe0f"])
def test_joiners_stay_in_the_scripts_that_need_them(before: str, stays: bool, joiner: str) -> None:
    assert (visible(f"{before}{joiner}") == f"{before}{joiner}") is bool(stays)


def test_lines_are_as_safe_as_one_line() -> None:
    assert visible_lines("a:\n:warning\tb:\n") == "a:\n:warning\tb:\n"
    assert "::" not in visible_lines("a\n::warning::b\n")


def test_colours_of_ours_stay_and_no_others() -> None:
    painted = "\x1b[1;31merror\x1b[0m: x\n"
    assert visible_lines(painted, painted=True) == painted
    assert "\x1b" not in visible_lines(painted)
    assert "\x1b" not in visible_lines("\x1b]0;x\x07 \x1b[2J \x1b[31", painted=True)


def test_a_diff_with_what_is_obeyed_is_known() -> None:
    assert not any(map(is_obeyed, ["+\tname: web", " # 商店 – …", "-  a: fe80::1", "@@ -1,2 +1,2 @@"]))
    for name in ("escape", "nul", "csi of C1", "right to left", "arabic mark", "line separator", "github", "azure"):
        assert is_obeyed(f"+ {HOSTILE[name]}"), name


# --- every format ---------------------------------------------------------------------------------------------------


def report(text: str) -> Report:
    span = Span(1, 1, 1, 5)
    finding = Finding(
        rule="spread-selector-noop",
        severity=Severity.ERROR,
        message=f"node {text} lacks {text}",
        evidence=Evidence("witness", text, assumes=(text,), trace=(text, text)),
        object=ObjectRef(text, text, text),
        location=Location(f"dir/{text}.yaml", span),
        related=(Related(Location(f"{text}.yaml", Span(2, 1, 2, 3)), text),),
        help=text,
    )
    return Report(
        findings=(finding,),
        skipped=(Skip("other-rule", text), Skip("", text)),
        errors=(InputError(f"{text}.yaml", text, 3, 1), InputError(text, text)),
        summary=Summary(
            files=1, documents=1, workloads=1, rules=1, cluster=text, notes=(text,), unread_kinds={text: 2}
        ),
    )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_format_lets_it_through(name: str, text: str) -> None:
    lines = (f"a: {text}".replace("\n", " "), f"{text}".replace("\n", " "), "c: d")
    for width in (0, 40):
        for verbose in (False, True):
            context = RenderContext(sources=lambda path: lines, width=width, verbose=verbose, statistics=verbose)
            written = "".join(renderer(name)(report(text), context)).encode("utf-8", "backslashreplace").decode()
            if name == "html":
                written = re.sub(r"<(style|script)\b.*?</\1>", "", written, flags=re.S)
                assert "<img" not in written
            assert_harmless(written, is_github=name == "github")
            if name in ("json", "sarif", "gitlab"):
                json.loads(written)
            if name == "rdjsonl":
                assert all(map(json.loads, written.rstrip("\n").split("\n")))


# --- every command --------------------------------------------------------------------------------------------------

POD = """apiVersion: v1
kind: Pod
metadata:
  name: {text}
  namespace: {text}
  labels: {{a: {text}}}
spec:
  nodeSelector: {{x: {text}}}
  containers: [{{name: a, image: {text}, resources: {{requests: {{cpu: {text}}}}}}}]
"""
NODE = """apiVersion: v1
kind: Node
metadata:
  name: {text}
  labels: {{topology.kubernetes.io/zone: {text}, x: {text}}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}}}
"""
ON_DISK = {name: text for name, text in HOSTILE.items() if "\x00" not in text and "/" not in text}
COMMANDS = (
    "lint F.yaml -c C.yaml",
    "lint F.yaml -c F.yaml",
    "lint G.yaml -c C.yaml -f markdown",
    "lint . --changed=F",
    "lint G.yaml --config F.yaml",
    "lint G.yaml --baseline F.yaml",
    "lint --F",
    "simulate G.yaml -c C.yaml --events deploy --picture deploy",
    "simulate G.yaml -c C.yaml --events F",
    "simulate F.yaml -c missing-F",
    "why F G.yaml -c C.yaml",
    "why a G.yaml -c C.yaml --each",
    "fleet F.yaml --clusters clusters",
    "fleet G.yaml --clusters F",
    "init C.yaml",
    "init F.yaml",
    "snapshot --context F -o o.json",
    "baseline write F.yaml -o b.json",
    "config show F.yaml --ignore F",
    "config show G.yaml --config F.yaml",
    "rules explain F",
    "rules list --rules F",
    "rules test F",
    "rules new F",
    "verify F.jsonl",
    "F",
)


@pytest.mark.parametrize("names", [list(ON_DISK)[n::2] for n in range(2)], ids=range(2))
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_lets_it_through(command: str, names: list[str], tmp_path: Path) -> None:
    """In names of files, of objects and of nodes, in labels, in values and in what is asked for, all at once."""
    text = " ".join(ON_DISK[name] for name in names)
    written = json.dumps(text.encode("utf-8", "replace").decode())
    name = os.fsencode(text)[:200].decode("utf-8", "surrogateescape")
    (tmp_path / f"{name}.yaml").write_text(POD.format(text=written))
    (tmp_path / f"{name}.jsonl").write_text('{"kind": ' + written + ', "id": ' + written + "}\n")
    (tmp_path / "G.yaml").write_text(POD.format(text=written).replace(f"cpu: {written}", "cpu: 1"))
    (tmp_path / "C.yaml").write_text(NODE.format(text=written))
    (tmp_path / "clusters").mkdir()
    for each in (name, "other"):
        (tmp_path / "clusters" / f"{each}.yaml").write_text(NODE.format(text=written))
    (tmp_path / name).mkdir()
    (tmp_path / name / "card.md").write_text(f"---\nslug: {written}\n{written}: 1\n---\n{text}\n", errors="replace")
    args = [re.sub(r"\bF\b", lambda _: name, word) for word in command.split(" ")]
    environ = {**os.environ, "KUBECONFIG": str(tmp_path / f"{name}.yaml"), "CI": "true"}
    done = called(*args, cwd=tmp_path, environ=environ)
    assert done.returncode in (0, 1, 2)
    for stream in (done.stdout, done.stderr):
        assert_harmless(stream)
    assert "This is a bug" not in done.stderr
    assert "Traceback" not in done.stderr
