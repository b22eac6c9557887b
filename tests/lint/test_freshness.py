"""A snapshot that is too old fails the run; the clock is given."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kubesched_lint.cli.app import app
from kubesched_lint.commands.lint.freshness import with_freshness
from kubesched_lint.engine.base.text import seconds_of
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.findings import Report, Summary

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def judged(captured_at: str, version: str = "v1.36.2") -> Report:
    cluster = Cluster(path="nodes.json", origin="snapshot", captured_at=captured_at, version=version)
    return with_freshness(Report(), cluster, "7d", "1.36", NOW)


@pytest.mark.parametrize(
    ("captured_at", "errors"),
    [("2026-11-16T12:00:00Z", 0), ("2026-11-16T11:59:59Z", 1), ("2026-11-16T11:59:59", 1), ("2026-12-01T00:00:00Z", 0)],
)
def test_a_snapshot_older_than_the_limit_is_an_error(captured_at: str, errors: int) -> None:
    report = judged(captured_at)
    assert len(report.errors) == errors
    assert all("older than --max-age 7d" in error.message for error in report.errors)
    assert not report.summary.notes


def test_a_snapshot_without_a_date_is_told() -> None:
    for text in ("", "yesterday"):
        report = judged(text)
        assert not report.errors
        assert "no date" in report.summary.notes[0]


def test_another_minor_is_told() -> None:
    (note,) = judged("2026-11-23T11:00:00Z", "v1.34.1").summary.notes
    assert note == "the file of the cluster is from Kubernetes 1.34, the rules judge by 1.36 (--kubernetes-version)"


def with_kubelets(server: str, *kubelets: str) -> Cluster:
    nodes = tuple(Node(f"n{number}", kubelet_version=kubelet) for number, kubelet in enumerate(kubelets))
    at = "2026-11-23T11:00:00Z"
    kinds = frozenset({"Node"})
    return Cluster(Inventory(nodes=nodes), "nodes.json", "snapshot", kinds, captured_at=at, version=server)


@pytest.mark.parametrize(
    ("server", "kubelets", "newer", "older"),
    [
        ("v1.36.2", ("v1.36.2", "v1.33.9", "v1.36.0-eks-1"), "", ""),
        ("v1.36.2", ("v1.36.9",), "", ""),  # the same minor: patches do not matter
        ("v1.34.1", ("v1.36.2", "v1.34.0"), "1 kubelet (n0: v1.36.2) is newer than the API server, v1.34.1:", ""),
        ("v1.34.1", ("v1.30.2",), "", "1 kubelet (n0: v1.30.2) is more than 3 minor versions older than"),
        ("v1.34.1", ("v1.30.2", "v1.35.0"), "(n1: v1.35.0) is newer", "(n0: v1.30.2) is more than 3"),
        ("v1.9.1", ("v1.10.0",), "(n0: v1.10.0) is newer", ""),  # numbers, not texts
        ("v1.34.1", 5 * ("v1.35.0",), "5 kubelets (n0: v1.35.0, n1: v1.35.0, n2: v1.35.0 and 2 more) are newer", ""),
        ("", ("v1.36.2",), "", ""),
        ("v1.34.1", ("", "unknown"), "", ""),
    ],
)
def test_kubelets_that_do_not_fit_the_server_are_said(
    server: str, kubelets: tuple[str, ...], newer: str, older: str
) -> None:
    """Newer ones suggest a stale file and fail where freshness is asked for; old ones may be a neglected cluster."""
    cluster = with_kubelets(server, *kubelets)
    wanted = [words for words in (newer, older) if words]
    assert [words in note for words, note in zip(wanted, cluster.notes, strict=True)] == [True] * len(wanted)
    report = with_freshness(Report(summary=Summary(notes=cluster.notes)), cluster, "7d", "1.36", NOW)
    assert [newer in error.message for error in report.errors] == [True] * bool(newer)
    left = [note for note in report.summary.notes if "kubelet" in note]
    assert [older in note for note in left] == [True] * bool(older), "what is an error is no note"


@pytest.mark.parametrize(
    ("kubelets", "judged_by", "said"),
    [
        (("v1.36.2", "v1.33.0"), "1.36", ""),
        (("v1.33.0",), "1.36", ""),  # the server may be three minors newer
        (("v1.30.2", "v1.31.0"), "1.36", "from 1.31 to 1.33, the rules judge by 1.36"),
        (("v1.36.2",), "1.34", "from 1.36 to 1.39, the rules judge by 1.34"),
        (("v1.36.2", "v1.30.0"), "1.34", ""),  # no server allows both
        ((), "1.34", ""),
        (("v1.21.3",), "1.30", ""),  # the oldest that is modelled, which another note says
    ],
)
def test_kubelets_show_the_minor_of_a_server_that_no_header_names(
    kubelets: tuple[str, ...], judged_by: str, said: str
) -> None:
    report = with_freshness(Report(), with_kubelets("", *kubelets), "7d", judged_by, NOW)
    assert [said in note for note in report.summary.notes] == [True] * bool(said)
    assert not report.errors


def test_durations_have_a_number_and_a_unit() -> None:
    assert [seconds_of(text) for text in ("30m", "12h", "7d", "2w")] == [1800, 43_200, 604_800, 1_209_600]
    assert [seconds_of(text) for text in ("", "7", "d", "-1d", "7 d", "٧d", "1.5d", "7y")] == [None] * 8


def test_lint_takes_the_limit_from_a_flag_or_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\ncapturedAt: '2020-01-01T00:00:00Z'\n"
        "nodes:\n- {name: a, count: 1, allocatable: {cpu: 2, memory: 4Gi, pods: '58'}}\n"
    )
    (tmp_path / "cm.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    args = ["lint", str(tmp_path / "cm.yaml"), "--cluster", str(tmp_path / "old.yaml"), "--partial"]
    for more, code in (([], 0), (["--max-age", "7d"], 2), (["--max-age", "9999w"], 0), (["--max-age", "soon"], 2)):
        done = CliRunner().invoke(app, [*args, *more])
        assert done.exit_code == code, done.output
    config = tmp_path / "kubesched.toml"
    config.write_text('max-age = "7d"\n')
    done = CliRunner().invoke(app, [*args, "--config", str(config)])
    assert (done.exit_code, "older than --max-age 7d" in done.stderr) == (2, True)
    config.write_text('max-age = "7 days"\n')
    done = CliRunner().invoke(app, [*args, "--config", str(config)])
    assert done.exit_code == 2
    assert "kubesched.toml:1:11: max-age: expected a duration" in done.stderr
