"""Expressions of strangers end: loops by cel-cpp's own budget, texts by a bound that is asked before they are built."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cel_expr_python")

from kubesched_lint.engine.base import work
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.rulebook.cel.cost import _measured
from kubesched_lint.rulebook.cel.language import EvaluationError, ExpressionError, Language
from kubesched_lint.rulebook.limits import MOST_TURNS

ROOT = Path(__file__).parents[2]
LABELS = {"workload": "Workload"}
CARD = """\
---
summary: A rule of a stranger
family: ops
severity: error
evidence: policy
needs: [text]
since: 1.0.0
message: "{{object}} is wrong"
help: "mend it"
where: workload.name != ""
require: |
  {}
---
# {}

## What it finds

One.

## Why it hurts

So.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {{name: a}}  # finding: is wrong
spec: {{containers: [{{name: c, image: i}}]}}
```

## Use instead

```yaml
apiVersion: v1
kind: Pod
metadata: {{name: b}}
spec: {{containers: [{{name: c, image: i}}]}}
```

## What it cannot see

Much.
"""
MANIFEST = (
    "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {}}}\nspec: {{containers: [{{name: c, image: i}}]}}\n"
)
DOUBLED = '["aaaaaaaa"]' + ".map(a, a + a)" * 26 + '[0] == ""'
LONG_LABELS = "{" + ", ".join(f"k{i}: v{i}" for i in range(300)) + "}"


def run(text: str, **shown: Any) -> Any:
    expression = Language(LABELS, {}).compile(text)
    values = {"workload": shown}
    if not expression.cost.is_free:
        expression.pay(values)
    return expression(Language(LABELS, {}).bind(values))


@pytest.mark.parametrize(
    "text",
    [
        "workload.labels.all(a, workload.labels.all(b, a + b != ''))",
        "workload.labels.all(a, workload.labels.exists(b, workload.labels.exists_one(c, a == b + c)) || true)",
        "workload.labels.map(a, workload.labels.map(b, a)).size() > 0",
        "workload.labels.filter(a, workload.labels.filter(b, a == b).size() > 0).size() >= 0",
    ],
)
def test_nested_loops_have_a_budget(text: str) -> None:
    with pytest.raises(EvaluationError, match=f"more than {MOST_TURNS:,} turns"):
        run(text, labels={f"k{i}": "v" for i in range(200)})
    assert run(text, labels={"k": "v"}) in (True, False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (DOUBLED, {}),
        ("[workload.name]" + ".map(a, a + a + a + a)" * 10 + "[0].size() > 0", {"name": "a" * 1000}),
        ("workload.labels.map(k, workload.name + k).size() > 0", {"name": "a" * 1_000_000, "labels": 500}),
        ("workload.labels.all(k, !workload.name.contains(k))", {"name": "a" * 1_000_000, "labels": 500}),
        ("workload.labels.all(k, !workload.name.matches(k))", {"name": "a" * 200_000, "labels": 500}),
        ("workload.labels.map(k, workload.labels.map(j, k + workload.name)).size() > 0",
         {"name": "a" * 100_000, "labels": 90}),
        ("[1,2,3,4,5,6,7,8,9,10].map(a, [workload.name].map(b, b + b + b)).map(c, c + c + c).size() > 0",
         {"name": "a" * 10_000_000}),
        ('workload.labels.map(k, true ? workload.name + "a" : "").size() > 0',
         {"name": "a" * 1_000_000, "labels": 500}),
        ('workload.labels.map(k, {"a": workload.name + k}).size() > 0', {"name": "a" * 1_000_000, "labels": 500}),
    ],
)  # fmt: skip
def test_texts_are_bounded_before_they_are_built(text: str, shown: dict[str, Any]) -> None:
    if "labels" in shown:
        shown = {**shown, "labels": {f"k{i}": "v" for i in range(shown["labels"])}}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EvaluationError, match=f"more than {LARGEST_WHOLE // 1024**2} MiB of text"):
        run(text, **shown)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.parametrize(
    "text",
    [
        'workload.labels.exists(k, k == "team")',
        'workload.labels.all(k, k.startsWith("a") || workload.labels.get(k, "") != "")',
        'workload.labels.map(k, k + "=" + workload.labels[k]).size() < 1000',
        'workload.annotations.all(k, !k.matches("^[a-z]+/.*$"))',
        "workload.pod.containers.all(c, workload.pod.containers.exists(d, c.name + d.name != ''))",
    ],
)
def test_what_people_write_is_far_from_the_bound(text: str) -> None:
    """300 labels, 40 containers, and annotations as large as the API server takes them."""
    expression = Language(LABELS, {}).compile(text)
    values = {"workload": {
        "labels": {f"example.com/{i}": "v" * 60 for i in range(300)},
        "annotations": {f"a{i}": "v" * 25_000 for i in range(10)},
        "pod": {"containers": [{"name": "c" * 60} for _ in range(40)]},
    }}  # fmt: skip
    used = {key: value for key, value in values["workload"].items() if key in text}
    assert expression.cost.is_free or expression.cost.bytes_of({"workload": used}) < LARGEST_WHOLE // 4
    assert expression(Language(LABELS, {}).bind(values)) in (True, False)


@pytest.mark.parametrize("text", ["workload.replicas > 1", 'workload.name + "-" + workload.namespace != ""',
                                  'workload.name.matches("^[a-z]*$") && "a" in workload.labels'])  # fmt: skip
def test_an_expression_without_loops_is_not_measured(text: str) -> None:
    assert Language(LABELS, {}).compile(text).cost.is_free


def test_the_rules_of_the_examples_take_next_to_nothing() -> None:
    """So that a set of thousands of workloads is judged to its end."""
    text = (
        'workload.pod.node_selector.get("pool", "") == workload.labels["team"] || '
        "workload.pod.node_affinity.exists(term, "
        'term.required && term.requirements.exists(r, r.key == "pool" && r.values == [workload.labels["team"]]))'
    )
    shown = {"pod": {"node_selector": {"pool": "a"}, "node_affinity": []}, "labels": {"team": "a", "app": "b"}}
    assert Language(LABELS, {}).compile(text).cost.bytes_of({"workload": shown}) < 10_000


def test_what_loops_over_its_items_grows_with_them_and_not_with_their_square() -> None:
    cost = Language(LABELS, {}).compile('workload.labels.all(k, k.matches("^a"))').cost
    one, ten = ({"workload": {"labels": {f"k{i:04}": "v" * 50 for i in range(n)}}} for n in (100, 1000))
    assert cost.bytes_of(ten) < 15 * cost.bytes_of(one)


def test_the_bound_holds_for_what_is_built() -> None:
    """The size of a result that nothing hides is never more than what was foreseen."""
    shown = {"name": "n" * 1000, "labels": {f"k{i}": "v" * i for i in range(20)}}
    for text in (
        "[workload.name].map(a, a + a).map(a, a + a + a)",
        "workload.labels.map(k, k + workload.name)",
        "workload.labels.map(k, workload.labels[k] + workload.labels[k])",
        "workload.labels.map(k, workload.labels.map(j, j + k + workload.name)).map(a, a[0] + a[1])",
    ):
        expression = Language(LABELS, {}).compile(text)
        values = {"workload": shown}
        built, _ = _measured(expression(Language(LABELS, {}).bind(values)))
        assert 0 < built <= expression.cost.bytes_of(values)


def test_many_evaluations_spend_the_work_of_the_run() -> None:
    expression = Language(LABELS, {}).compile("workload.labels.map(k, workload.name + k).size() > 0")
    values = {"workload": {"name": "n" * 10_000, "labels": {f"k{i}": "v" for i in range(100)}}}

    def often() -> None:
        with work.within(100_000):
            for _ in range(1000):
                expression.pay(values)

    with pytest.raises(work.OutOfWorkError):
        often()


@pytest.mark.parametrize("text", ["(" * 5000 + "true" + ")" * 5000, "!" * 5000 + "true", "true" + " && true" * 50_000,
                                  "[" * 500 + "]" * 500 + " == []", '"' + "a" * 500_000 + '" == ""',
                                  '"a".matches("((a{1000}){1000}){1000}")',
                                  "1" + " + 1" * 20_000 + " > 0"])  # fmt: skip
def test_an_expression_that_is_too_much_is_refused_or_answered(text: str) -> None:
    """It ends, and with nothing but our own errors."""
    with suppress(ExpressionError, EvaluationError):
        assert run(text) in (True, False)


@pytest.mark.parametrize(
    ("require", "words"),
    [(DOUBLED, "may build more than 256 MiB of text"),
     ("workload.labels.all(a, workload.labels.all(b, a != b + 'x'))", "its loops take more than 10,000 turns")],
)  # fmt: skip
def test_the_run_names_the_rule_and_its_line_and_goes_on(tmp_path: Path, require: str, words: str) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "hostile-rule.md").write_text(CARD.format(require, "hostile-rule"))
    (tmp_path / "rules" / "other-rule.md").write_text(CARD.format("false", "other-rule"))
    (tmp_path / "pod.yaml").write_text(MANIFEST.format(LONG_LABELS))
    command = [sys.executable, "-m", "kubesched_lint", "lint", "pod.yaml", "--rules", "rules", "--no-config"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stdout
    assert "rules/hostile-rule.md:11:1" in done.stdout
    assert "other-rule" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
