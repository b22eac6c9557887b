"""The commands end with 0, 1 or 2 on anything, no rule raises, and what is sound beside garbage is still checked."""

from __future__ import annotations

import json
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint import Cluster, lint, load_cluster, simulate
from kubesched_lint.cli.app import app
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.naming import NamingError
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.report.findings.formats import FORMATS
from kubesched_lint.sources.manifests.loader import documents
from tests import drawn as st
from tests.drawn import given
from tests.garbage.garbage import FIXTURES, STYLES, ZONES, disturbed, drawn, manifests, mutated, written

HURT = FIXTURES / "seeds" / "B1"
COUNTS = st.sampled_from([None, -1, 0, 1, 7, 10**3, 2**31 - 1, 10**12, 0.5, "3", "{{ x }}"])
SURGES = st.sampled_from([None, 0, 1, -1, 10**9, "0%", "25%", "101%", "100000000%", "-3%", "x", ""])
ODD_FIELDS: dict[tuple[str, ...], st.Drawn[Any]] = {
    ("spec", "replicas"): COUNTS,
    ("spec", "strategy", "rollingUpdate", "maxSurge"): SURGES,
    ("spec", "strategy", "rollingUpdate", "maxUnavailable"): SURGES,
    ("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"): SURGES,
    ("spec", "updateStrategy", "rollingUpdate", "partition"): COUNTS,
    ("spec", "selector"): st.sampled_from([None, {}, {"matchLabels": {}}, {"matchLabels": {"a": "b"}}]),
    ("spec", "template"): st.sampled_from([None, {}, {"spec": {}}, {"metadata": {"labels": {}}}]),
    ("spec", "template", "metadata"): st.sampled_from([None, {}, {"labels": None}]),
    ("spec", "template", "spec", "containers"): st.sampled_from([None, [], [{}], [{"name": "c"}]]),
    ("spec", "completions"): COUNTS,
    ("spec", "parallelism"): COUNTS,
    ("spec", "maxReplicas"): COUNTS,
    ("spec", "minReplicas"): COUNTS,
    ("spec", "maxUnavailable"): SURGES,
    ("spec", "minAvailable"): SURGES,
}


@cache
def zones() -> Cluster:
    return load_cluster(ZONES)


def command(*words: str) -> Result:
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), (words, done.exception)
    assert done.exit_code in (0, 1, 2), (words, done.exit_code)
    assert "Traceback" not in done.output
    return done


@st.composite
def set_of_objects(draw: st.DrawFn) -> str:
    """A few objects as JSON documents: with anything anywhere, or odd where controllers and the scheduler look."""
    found = []
    for value in draw(st.lists(st.sampled_from(manifests()), min_size=1, max_size=3)):
        changed = draw(mutated(value, most=2)) if draw(st.booleans()) else json.loads(json.dumps(value))
        for path in draw(st.lists(st.sampled_from(list(ODD_FIELDS)), max_size=3, unique=True)):
            _put(changed, path, draw(ODD_FIELDS[path]))
        found.append(written("lines", changed))
    return "".join(found)


def _put(value: Any, path: tuple[str, ...], new: Any) -> None:
    """Where the way is there; in place of nothing, a mapping is made."""
    for step in path[:-1]:
        if not isinstance(value, dict):
            return
        value = value.setdefault(step, {})
    if isinstance(value, dict):
        value[path[-1]] = new


@drawn(60)
@given(set_of_objects(), st.booleans())
def test_no_rule_raises(text: str, with_nodes: bool) -> None:
    report = lint(text=text, cluster=zones() if with_nodes else None, profile="strict")
    assert [error.message for error in report.errors if error.message.startswith("rule ")] == []


@drawn(25)
@given(set_of_objects())
def test_simulate_ends_on_odd_objects(text: str) -> None:
    for outcome in simulate(text=text, cluster=zones(), states=60).outcomes:
        assert outcome.verdict in ("fine", "bad", "depends", "by-scores", "unknown", "refused", "none")
        assert outcome.text


@drawn(40)
@given(set_of_objects(), st.sampled_from([1, 2, 50]))
def test_why_ends_on_odd_objects(text: str, replica: int) -> None:
    entries = documents("m.json", text.encode("utf-8", "surrogatepass"), is_read)
    inventory = manifest_set(entries, "default").inventory
    for workload in inventory.workloads:
        name = f"{workload.kind.lower()}/{workload.namespace}/{workload.name}"
        try:
            found = answer(Question(name, replica), inventory, zones())
        except NamingError:
            continue
        assert len(found.nodes) == (0 if found.refused else 6)


@drawn(20)
@given(st.data(), STYLES, st.sampled_from([name for name in FORMATS if name != "html"]))
def test_lint_ends_with_a_report_and_still_checks_the_other_files(data: st.DataObject, style: str, shown: str) -> None:
    value = data.draw(mutated(data.draw(st.sampled_from(manifests()))))
    garbage = data.draw(
        st.one_of(st.just(written(style, value).encode("utf-8", "surrogatepass")), disturbed(b"a: b\n"))
    )
    with TemporaryDirectory() as folder, chdir(folder):
        Path("garbage.yaml").write_bytes(garbage)
        alone = json.loads(
            command("lint", str(HURT), "--cluster", str(ZONES), "--format", "json", "--no-config").stdout
        )
        both = command("lint", str(HURT), "garbage.yaml", "--cluster", str(ZONES), "--format", "json", "--no-config")
        hurt = [f["location"]["path"] for f in json.loads(both.stdout)["findings"]]
        assert {f["location"]["path"] for f in alone["findings"]} <= set(hurt)
        command("lint", "garbage.yaml", "--cluster", str(ZONES), "--format", shown, "--no-config")


@pytest.mark.parametrize("where", ["--cluster", "--config", "--baseline"])
@drawn(8)
@given(st.one_of(st.binary(max_size=40), disturbed(ZONES.read_bytes())))
def test_garbage_in_place_of_any_other_file_is_one_message(where: str, data: bytes) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        Path("garbage.yaml").write_bytes(data)
        command("lint", str(HURT), where, "garbage.yaml")
