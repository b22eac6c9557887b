"""Rules of one's own in a folder: used, tested, suppressed and refused like the shipped ones; never code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.cel import language
from kubesched_lint.rulebook.examples import Trial
from kubesched_lint.rulebook.loading import usable
from kubesched_lint.rulebook.own import rulebook_with
from tests.program import called

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "rules"
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: shop
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
      - {{name: app, image: "registry.example.com/shop/app:1.0"}}
---
"""
RULE = """\
---
summary: Fewer replicas than we ask for
family: policy
severity: error
evidence: policy
needs: [text]
require: workload.replicas >= params.least
at: spec.replicas
params:
  least: {type: integer, default: 2, description: Replicas that are enough}
message: "{object} has {replicas|replica}, and we ask for {least}"
help: "set replicas to {least}"
since: 1.0.0
---
# enough-replicas

## What it finds

One.

## Why it hurts

It does.

## Example

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1  # finding: has 1 replica, and we ask for 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/shop/web:1.0"}]}
```

## Use instead

```yaml param.least=1
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/shop/web:1.0"}]}
```

## What it cannot see

More.
"""
Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Writes the rule, changed by replacements, and two workloads: ``folder({"old": "new"})`` gives their folder."""

    def write(changes: dict[str, str] | None = None, slug: str = "enough-replicas") -> Path:
        text = RULE.replace("enough-replicas", slug)
        for old, new in (changes or {}).items():
            assert old in text, f"{old!r} is not in the card, so nothing would be changed"
            text = text.replace(old, new)
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "rules" / f"{slug}.md").write_text(text)
        (tmp_path / "m.yaml").write_text("".join(WORKLOAD.format(name=name) for name in ("web", "db")))
        return tmp_path

    return write


def linted(folder: Path, **options: object) -> Report:
    request = Request((str(folder / "m.yaml"),), options.pop("cluster", None))  # type: ignore[arg-type]
    return check(request, Options(**options), rulebook_with([str(folder / "rules")]))  # type: ignore[arg-type]


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return called(*arguments, cwd=cwd, environ={"PATH": "/usr/bin:/bin"})


def test_the_examples_we_ship_hold() -> None:
    trial = Trial.of(EXAMPLES)
    assert len(trial.cards) == 10
    assert [*trial.faults, *trial.failures(lint_example)] == []


def test_a_rule_of_ones_own_is_found_at_its_line_like_any_other(folder: Folder) -> None:
    report = linted(folder())
    assert report.errors == ()
    own = [f for f in report.findings if f.rule == "enough-replicas"]
    assert [(f.location.span.line, str(f.object)) for f in own] == [
        (7, "Deployment shop/web"),
        (21, "Deployment shop/db"),
    ]
    first = own[0]
    assert (first.message, first.help) == ("Deployment shop/web has 1 replica, and we ask for 2", "set replicas to 2")
    assert (first.severity, first.evidence.kind) == (Severity.ERROR, "policy")
    assert first.evidence.text == "requires workload.replicas >= params.least"


def test_pattern_is_no_error_even_where_somebody_writes_so(folder: Folder) -> None:
    card = folder({"evidence: policy": "evidence: pattern"}) / "rules" / "enough-replicas.md"
    _, faults = usable(card.parent)
    (fault,) = faults
    assert (fault.line, fault.message) == (5, "evidence: an error needs a proof, or is a policy of one's own")


def test_no_shipped_rule_is_a_policy() -> None:
    assert all("policy" not in rule.evidence for rule in rulebook_with())


def test_it_is_selected_ignored_and_set_like_any_other(folder: Folder) -> None:
    place = folder()
    assert {f.rule for f in linted(place, select=("policy",)).findings} == {"enough-replicas"}
    assert linted(place, select=("enough-replicas",), ignore=("policy",)).findings == ()
    assert linted(place, params={"enough-replicas": {"least": 1}}).findings == ()
    notes = linted(place, severities={"enough-replicas": Severity.NOTE}).findings
    assert {f.severity for f in notes} == {Severity.NOTE}


def test_it_is_waived_like_any_other(folder: Folder) -> None:
    place = folder()
    text = (place / "m.yaml").read_text()
    text = text.replace("replicas: 1\n", "replicas: 1  # kubesched: ignore[enough-replicas] one will do\n", 1)
    (place / "m.yaml").write_text(text)
    report = linted(place)
    assert [f.suppressed.reason if f.suppressed else "" for f in report.findings] == ["one will do", ""]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_it_is_in_every_report(form: str, folder: Folder) -> None:
    place = folder()
    done = run("lint", "m.yaml", "--rules", "rules", "--format", form, cwd=place)
    assert done.returncode == 1, done.stderr
    assert "enough-replicas" in done.stdout
    assert "and we ask for 2" in done.stdout
    if form == "sarif":
        rules = {rule["id"]: rule for rule in json.loads(done.stdout)["runs"][0]["tool"]["driver"]["rules"]}
        assert rules["enough-replicas"]["help"]["text"].startswith("# enough-replicas")


def test_the_configuration_names_folders_and_may_set_their_rules(folder: Folder) -> None:
    place = folder()
    (place / "kubesched.toml").write_text('rule-folders = ["rules"]\n\n[rules.enough-replicas]\nseverity = "note"\n')
    (place / "sub").mkdir()
    done = run("lint", "../m.yaml", "--format", "json", cwd=place / "sub")
    assert done.returncode == 0, done.stderr
    assert [f["severity"] for f in json.loads(done.stdout)["findings"]] == ["note", "note"]
    (place / "kubesched.toml").write_text('rule-folders = ["rules"]\n\n[rules.enough-replicas]\nmost = 1\n')
    done = run("lint", "m.yaml", cwd=place)
    assert (done.returncode, "kubesched.toml:4:1: enough-replicas has no parameter" in done.stderr) == (2, True), (
        done.stderr
    )


@pytest.mark.parametrize(
    ("changes", "line", "message"),
    [
        ({"require: workload.replicas": "require: workload.replicsa"}, 7, "did you mean `replicas`?"),
        ({"require: workload.replicas >= params.least": "require: |\n  true &&\n  workload.x"}, 9, "Workload has no"),
        ({"workload.replicas >=": "workload.replicas +"}, 7, "require: it yields an int, and must be true or false"),
        ({"params.least\nat": "params.lest\nat"}, 7, "the card has no parameter `lest`; did you mean `least`?"),
        ({"{least}\"\nhelp": "{lost}\"\nhelp"}, 11, "message: nothing gives {lost}"),
        ({"workload.replicas >=": "workload.usable_nodes >="}, 6, "usable_nodes needs `nodes`: write needs: [nodes]"),
        ({"at: spec": "each: set\nat: spec"}, 8, "each: `set` has no expressions; they are about workload, pod,"),
        ({"require: workload": "requires: workload"}, 1, "unknown key `requires`; did you mean `require`?"),
        ({"at: spec.replicas": "values: {a: workload.pod}"}, 8, "values.a: it yields a pod, which no message can show"),
        ({"severity: error": "severity: fatal"}, 4, "severity: 'fatal' is not one of"),
        ({"family: policy": "family: !!python/name:os.system policy"}, 0, ""),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_used_is_one_error_at_its_line_and_the_others_run(
    changes: dict[str, str], line: int, message: str, folder: Folder
) -> None:
    folder(slug="another-rule")
    place = folder(changes)
    report = linted(place)
    if not message:  # a tag is not resolved: the value is the text that it is
        assert report.errors == ()
        return
    (error,) = report.errors[:1]
    assert message in error.message
    assert error.path == str(place / "rules" / "enough-replicas.md")
    assert error.line == line or "unknown key" in message
    assert {f.rule for f in report.findings} == {"another-rule"}


def test_an_unusable_rule_makes_the_exit_code_2(folder: Folder) -> None:
    place = folder({"workload.replicas >=": "workload.replicsa >="})
    done = run("lint", "m.yaml", "--rules", "rules", cwd=place)
    assert done.returncode == 2
    assert "require: Workload has no field `replicsa`; did you mean `replicas`?" in done.stdout
    assert " --> rules/enough-replicas.md:7:1" in done.stdout
    done = run("rules", "test", "rules", cwd=place)
    assert done.returncode == 2
    assert "rules/enough-replicas.md:7: require: Workload has no field `replicsa`" in done.stdout


def test_an_example_that_does_not_hold_is_an_error_at_its_line(folder: Folder) -> None:
    place = folder({"has 1 replica, and": "has no replica, and"})
    done = run("rules", "test", "rules", cwd=place)
    assert done.returncode == 2
    assert "rules/enough-replicas.md:32: no finding of enough-replicas here" in done.stdout


def test_a_rule_that_fails_on_a_workload_is_one_error_naming_it(folder: Folder) -> None:
    folder(slug="another-rule")
    place = folder({"workload.replicas >= params.least": 'workload.labels["team"] == "a"'})
    report = linted(place)
    (error,) = report.errors
    assert error.message.startswith("rule enough-replicas failed on Deployment shop/web with EvaluationError: ")
    assert 'there is no "team" in the map' in error.message
    assert error.path.endswith("rules/enough-replicas.md")
    assert {f.rule for f in report.findings} == {"another-rule"}


def test_without_the_extra_each_such_rule_says_what_to_install(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "has_cel", lambda: False)
    report = linted(folder())
    assert [e.message for e in report.errors] == [
        "rules with expressions need the extra: pip install 'kubesched-lint[cel]'"
    ]


def test_a_name_is_used_once(folder: Folder, tmp_path: Path) -> None:
    place = folder(slug="single-zone-workload")
    assert "there is a shipped rule `single-zone-workload`" in linted(place).errors[0].message
    (place / "rules" / "single-zone-workload.md").unlink()
    folder()
    twice = tmp_path / "more"
    twice.mkdir()
    (twice / "enough-replicas.md").write_text((place / "rules" / "enough-replicas.md").read_text())
    book = rulebook_with([str(place / "rules"), str(twice)])
    assert [fault.message for fault in book.faults] == [f"there is a rule `enough-replicas` in {place}/rules as well"]


@pytest.mark.parametrize("key", ["yields_to", "yields_here_to"])
@pytest.mark.parametrize(("first", "second"), [("more", "most"), ("more", "more")])
def test_of_rules_that_yield_in_a_circle_one_finding_stays(folder: Folder, key: str, first: str, second: str) -> None:
    for slug, other in {first: second, second: first}.items():
        place = folder({"since: 1.0.0": f"since: 1.0.0\n{key}: [{other}]"}, slug=slug)
    found = [finding for finding in linted(place).findings if finding.rule in (first, second)]
    assert [finding.object.name for finding in found] == ["web", "db"]
    assert [len(finding.also) for finding in found] == [len({first, second}) - 1] * 2


def test_the_list_and_the_explanation_know_own_rules(folder: Folder) -> None:
    folder(slug="another-rule")
    place = folder({"workload.replicas >=": "workload.replicsa >="})
    done = run("rules", "list", "--rules", "rules", "--family", "policy", cwd=place)
    assert (done.returncode, "another-rule" in done.stdout, "enough-replicas" in done.stdout) == (2, True, False)
    assert "error: rules/enough-replicas.md:7: require: Workload has no field" in done.stderr
    done = run("rules", "explain", "another-rule", "--rules", "rules", cwd=place)
    assert "- **Requires:** `workload.replicas >= params.least`" in done.stdout


@pytest.mark.parametrize(
    ("kind", "default", "require", "found"),
    [
        ("number", "1", "double(workload.replicas) * 1.5 > params.x", False),
        ("number", "1.5", "double(workload.replicas) > params.x", True),
        ("boolean", "true", "!params.x", True),
        ("strings", "[shop]", "workload.namespace in params.x", False),
        ("string", "shop", "workload.namespace == params.x + params.x", True),
    ],
)
def test_parameters_have_the_types_that_the_card_says(
    kind: str, default: str, require: str, found: bool, folder: Folder
) -> None:
    place = folder(
        {
            "least: {type: integer, default: 2": f"x: {{type: {kind}, default: {default}",
            "workload.replicas >= params.least": f"'{require}'",
            "we ask for {least}": "so {x}",
            "replicas to {least}": "it",
            "param.least=1": "",
        }
    )
    report = linted(place)
    assert report.errors == ()
    assert bool(report.findings) is found


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    book = rulebook_with([str(tmp_path / "empty"), str(tmp_path / "none")])
    assert [fault.message.partition(":")[0] for fault in book.faults] == ["holds no card", "there is no such folder"]


def test_a_rule_over_nodes_points_at_the_sketch_or_at_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(WORKLOAD.format(name="web"))
    (tmp_path / "sketch.yaml").write_text(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n- {name: worker}\n"
        '- {name: gpu, allocatable: {cpu: "8", memory: 32Gi, pods: "58", nvidia.com/gpu: "4"}}\n'
    )
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu"},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "58", "nvidia.com/gpu": "4"}},
    }
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    book = rulebook_with([str(EXAMPLES)])
    for cluster, line in (("sketch.yaml", 5), ("nodes.json", 1)):
        request = Request((str(tmp_path / "m.yaml"),), str(tmp_path / cluster))
        (finding,) = check(request, Options(select=("gpu-nodes-are-tainted",)), book).findings
        assert (str(finding.object), finding.location.span.line) == ("Node gpu", line)
        assert finding.location.path == str(tmp_path / cluster)


def test_nothing_in_a_folder_is_run(folder: Folder, tmp_path: Path) -> None:
    """A check in Python beside its card is not looked at, and neither is anything else there."""
    place = folder({"require: workload.replicas >= params.least\nat: spec.replicas\n": ""})
    proof = tmp_path / "it-ran"
    spy = f"open({str(proof)!r}, 'w').close()\n"
    for name in ("enough_replicas.py", "__init__.py", "conftest.py", "sitecustomize.py"):
        (place / "rules" / name).write_text(spy)
    (place / "rules" / "checks").mkdir()
    (place / "rules" / "checks" / "enough_replicas.py").write_text(spy)
    done = run("lint", "../m.yaml", "--rules", ".", cwd=place / "rules")
    assert "no `require`: a rule in a folder has a CEL expression" in done.stdout
    assert done.returncode == 2
    assert not proof.exists()


def test_a_distribution_in_the_current_folder_is_not_installed(folder: Folder, tmp_path: Path) -> None:
    place = folder()
    (place / "evil" / "rules").mkdir(parents=True)
    (place / "evil" / "checks").mkdir()
    (place / "evil" / "__init__.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n")
    info = place / "evil-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[kubesched_lint.rulebooks]\nevil = evil\n")
    done = run("rules", "list", cwd=place)
    assert done.returncode == 0
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch it-ran']",
        "!include /etc/passwd",
        "!!python/name:os.system",
        "{$ref: 'https://example.com/family.json'}",
        "*missing",
    ],
)
def test_a_card_resolves_no_tag_no_include_and_no_address(
    value: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder({"family: policy": f"family: {value}"})
    monkeypatch.chdir(place)
    monkeypatch.setattr(socket, "socket", _no_network)
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    report = linted(place)
    assert report.errors or {f.rule for f in report.findings} == {"enough-replicas"}
    assert not (place / "it-ran").exists()
    assert "root:" not in str(report)


def _no_network(*_: object, **__: object) -> None:
    raise AssertionError("somebody reaches out")


def test_references_are_only_shown(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder({"since: 1.0.0": "references: [https://example.com/incident]\nsince: 1.0.0"})
    monkeypatch.setattr(socket, "socket", _no_network)
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    assert linted(place).errors == ()


def test_a_run_without_own_rules_imports_nothing_for_them(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(WORKLOAD.format(name="web"))
    script = (
        "import sys; sys.argv = ['x', 'lint', 'm.yaml', '--no-config']\n"
        "import os; import kubesched_lint.cli as cli\n"
        "os._exit = lambda code: None\n"
        "cli.main()\n"
        "odd = [m for m in sys.modules if m.startswith(('kubesched_lint.rulebook.cel', 'cel_expr_python', 'google',"
        " 'importlib.metadata', 'jsonschema'))]\n"
        "print('odd:', odd, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert "odd: []" in done.stderr


def test_a_cluster_is_only_asked_for_where_a_fact_needs_it(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(WORKLOAD.format(name="web").replace("shop", "payments"))
    book = rulebook_with([str(EXAMPLES)])
    report = check(Request((str(tmp_path / "m.yaml"),)), Options(select=("policy",)), book)
    assert {s.rule for s in report.skipped} == {"gpu-nodes-are-tainted", "payments-one-per-zone"}
    assert {f.rule for f in report.findings} == {"priority-class-by-namespace"}


STRAY = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {team: checkout}}
spec:
  tolerations:
  - {key: example.com/database, operator: Exists}
  - {key: example.com/spot, operator: Exists}
  containers: [{name: a, image: "registry.example.com/shop/a:1.0"}]
"""


def test_a_fix_is_put_or_removed_when_somebody_asks_for_it(tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    manifest.write_text(STRAY)
    ours = ("--rules", EXAMPLES, "--ignore", "no-bare-pods", "--no-config")
    assert run("lint", manifest, *ours, "--fix").returncode == 1
    assert manifest.read_text() == STRAY, "they say that they are unsafe"
    done = run("lint", manifest, *ours, "--fix", "--unsafe-fixes")
    assert done.returncode == 0, done.stdout
    text = manifest.read_text()
    assert "example.com/database" not in text
    assert "nodeSelector: {example.com/pool: checkout}\n" in text


def test_what_a_fix_writes_is_checked_as_well(folder: Folder) -> None:
    place = folder({"at: spec.replicas": "at: spec.replicas\nfix: safe\nput: params.lest"})
    assert "put: the card has no parameter `lest`; did you mean `least`?" in linted(place).errors[0].message
    place = folder({"at: spec.replicas": "at: spec.replicas\nfix: safe\nput: params.least"})
    done = run("lint", "m.yaml", "--rules", "rules", "--fix", cwd=place)
    assert done.returncode == 0, done.stdout
    assert (place / "m.yaml").read_text().count("replicas: 2\n") == 2
