"""A warm session says what a fresh run says, and keeps what it cannot find out at once."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request
from kubesched_lint.engine.base import work
from kubesched_lint.findings import Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.premises import proofs
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session import decoding
from kubesched_lint.session.moved import shift_between
from kubesched_lint.session.session import Answer, Session
from tests.session.run import SKETCH, differences

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - {name: web, image: "shop/web:1"}
"""
COMPANY = Path(__file__).parents[2] / "fixtures/company"
SLOW = "nodeselector-matches-nothing"


def opened(folder: Path, cluster: Path | None = SKETCH) -> Session:
    (folder / "web.yaml").write_text(WEB)
    return Session(Request((str(folder),), str(cluster) if cluster else None), Options(), Rulebook.shipped())


def found(answer: Answer, rule: str = SLOW) -> list[int]:
    """The lines of a rule's findings."""
    return [f.location.span.line for f in answer.report.findings if f.rule == rule]


def test_random_edits_give_what_a_fresh_run_gives() -> None:
    assert list(differences(1, edits=3, files=5, cluster=str(SKETCH))) == []
    assert list(differences(2, edits=4, files=6, cluster=None)) == []


def test_a_buffer_counts_instead_of_its_file(tmp_path: Path) -> None:
    session = opened(tmp_path)
    assert found(session.whole()) == [10]
    assert session.put(str(tmp_path / "web.yaml"), WEB.replace("      nodeSelector: {disk: ssd}\n", ""))
    assert found(session.whole()) == []
    assert session.put(str(tmp_path / "web.yaml"), None)
    assert found(session.whole()) == [10]


def test_a_buffer_that_cannot_be_read_keeps_its_findings_where_their_lines_are_now(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.whole()
    session.put(str(tmp_path / "web.yaml"), "# new\n" + WEB + "  oops: [\n")
    for answer in (session.at_once(), session.whole()):
        assert found(answer) == [11]
        assert [(error.path, error.line > 12) for error in answer.report.errors] == [(str(tmp_path / "web.yaml"), True)]
    session.put(str(tmp_path / "web.yaml"), "# new\n" + WEB)
    assert session.whole().report.errors == ()


def test_a_file_that_was_never_readable_has_one_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: [\n")
    session = opened(tmp_path)
    session.put(str(tmp_path / "a.yaml"), "apiVersion: v1\nkind: [ \n")
    assert len(session.whole().report.errors) == 1


def test_what_an_answer_at_once_leaves_out_is_kept_and_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path)
    session.whole()
    monkeypatch.setitem(session._costs, SLOW, 1e9)
    session.put(str(tmp_path / "web.yaml"), "# one\n# two\n" + WEB)
    answer = session.at_once()
    assert SLOW in answer.waiting
    assert found(answer) == [12]
    session.put(str(tmp_path / "web.yaml"), WEB.replace("name: web}", "name: other}", 1))
    assert found(session.at_once()) == [], "its object is gone"
    session.put(str(tmp_path / "web.yaml"), WEB.replace("disk: ssd", "kubernetes.io/os: linux"))
    assert found(session.at_once()) == [10], "nobody has looked yet"
    assert found(session.whole()) == []


def test_a_rule_that_turns_out_dear_is_left_out_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path)
    session.whole()
    monkeypatch.setitem(session._costs, SLOW, 0)
    monkeypatch.setattr("kubesched_lint.checks.nodeselector_matches_nothing.check", lambda *_: work.spend(10**9))
    assert SLOW in session.at_once().waiting
    assert found(session.at_once()) == [10]


def test_an_answer_at_once_ends_where_notes_take_all_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor said "This is a bug", and showed nothing of the file."""
    session = opened(tmp_path)
    monkeypatch.setattr("kubesched_lint.engine.verdicts.missing_facts.in_one_line", lambda _: work.spend(10**9))
    answer = session.at_once()
    assert "not computed: the classes and volumes that are missing" in answer.report.summary.notes


def test_a_snapshot_may_be_too_old(tmp_path: Path) -> None:
    cluster = tmp_path / "old.json"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    (tmp_path / "web.yaml").write_text(WEB)
    request = Request((str(tmp_path / "web.yaml"),), str(cluster), max_age="1h")
    session = Session(request, Options(), Rulebook.shipped())
    (error,) = session.whole().report.errors
    assert "older than --max-age 1h" in error.message


def test_only_a_whole_run_tries_to_refute_proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(proofs, "established", lambda judged, _: tried.append(len(judged)) or judged)
    session = opened(tmp_path)
    (error,) = (f for f in session.whole().report.findings if f.rule == SLOW)
    assert error.severity is Severity.ERROR
    assert len(tried) == 1
    session.put(str(tmp_path / "web.yaml"), WEB + "# 2\n")
    assert found(session.at_once()) == [10]
    assert len(tried) == 1


def test_a_whole_run_goes_on_from_what_the_answer_at_once_has_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path)
    session.whole()
    session.put(str(tmp_path / "web.yaml"), WEB + "# 2\n")
    session.at_once()
    learnt = session._scenario
    asked: list[object] = []
    monkeypatch.setattr(proofs, "established", lambda judged, scenario_of: asked.extend(map(scenario_of, judged)) or ())
    session.whole()
    assert learnt is not None
    assert asked == [learnt]


def test_what_was_learnt_of_other_texts_or_with_too_few_steps_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path)
    session.whole()
    session.put(str(tmp_path / "web.yaml"), WEB + "# 2\n")
    session.at_once()
    session.put(str(tmp_path / "web.yaml"), WEB + "# 3\n")
    assert session._scenario is None
    monkeypatch.setattr(
        "kubesched_lint.checks.nodeselector_matches_nothing.check", lambda *_: work.tried(lambda: work.spend(10**9), ())
    )
    session.at_once()
    assert session._scenario is None
    session.put(str(tmp_path / "web.yaml"), WEB + "# 4\n")
    session.at_once()
    with pytest.raises(work.StoppedError):
        session.whole(lambda: True)
    assert session._scenario is None, "it may have been left half done"


def test_an_editor_that_is_open_all_day_keeps_nothing_of_former_texts() -> None:
    """Records that the collector of garbage does not see kept each simulated set alive: 11,000 objects an edit."""
    train = COMPANY / "repo/data/train.yaml"
    parts = tuple(str(COMPANY / "repo" / part) for part in ("data", "platform"))
    session = Session(Request(parts, str(COMPANY / "cluster.json")), Options(), Rulebook.shipped())
    sizes = []
    for number in range(4):
        session.put(str(train), f"{train.read_text()}# {number}\n")
        session.at_once()
        session.whole()
        gc.collect()
        sizes.append(len(gc.get_objects()))
    assert sizes[-1] - sizes[1] < 100, sizes


def test_a_whole_run_stops_when_nobody_wants_it(tmp_path: Path) -> None:
    session = opened(tmp_path)
    with pytest.raises(work.StoppedError):
        session.whole(lambda: True)
    assert found(session.whole()) == [10]


def test_a_buffer_without_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "manifests").mkdir()
    session = opened(tmp_path / "manifests", tmp_path / SKETCH)
    new = tmp_path / "manifests" / "new.yaml"
    assert session.put(str(new), WEB.replace("name: web}", "name: new}", 1))
    assert not session.put(str(tmp_path / "manifests/new.txt"), WEB)
    assert not session.put(str(tmp_path / "elsewhere/new.yaml"), WEB)
    places = {(f.location.path, f.object.name) for f in session.whole().report.findings if f.rule == SLOW}
    assert places == {(str(tmp_path / "manifests/web.yaml"), "web"), (str(new), "new")}
    session.put(str(new), WEB + "  oops: [\n")
    assert session.whole().report.errors != ()
    assert session.put(str(new), None)
    assert session.whole().report.errors == ()


def test_only_the_changed_file_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(WEB.replace("web", "a"))
    session = opened(tmp_path)
    session.whole()
    decoded: list[str] = []
    real = decoding.decoded
    monkeypatch.setattr(decoding, "decoded", lambda d, *rest: decoded.append(d.path) or real(d, *rest))
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n---\n" + WEB)
    assert session.look_again()
    assert not session.look_again()
    orders = [workload.order for workload in session.manifests.inventory.workloads]
    assert {Path(path).name for path in decoded} == {"a.yaml"}
    assert orders == [1, 2]


def places(old: str, new: str) -> list[int]:
    shift = shift_between(old, new)
    return [shift.line(number) for number in range(1, old.count("\n") + 2)]


def test_lines_move_with_the_text_around_them() -> None:
    assert places("a\nb\nc\nd", "a\nx\ny\nc\nd") == [1, 2, 4, 5]
    assert places("a\nb\nc\nd", "a\nd") == [1, 1, 1, 2]
    assert places("a\na", "a\na\na") == [1, 2]
    assert places("a\nb\nc\nd", "x\na\nb\ny\nc\nd\nz") == [2, 3, 5, 6]
    assert places("a\nb", "c\nd") == [1, 2]
    assert places("", "a\nb") == [1]
    assert places("a\nb\nc", "") == [1, 1, 1]


def test_a_large_edit_is_not_compared_line_by_line() -> None:
    middle = "".join(f"{number % 7}\n" for number in range(5_000))
    assert places(f"a\n{middle}z", f"a\n{middle[::-1]}\nz")[-1] == 5_003
