"""A kept report is told again only where everything is as it was, and no state of its folder can do harm."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubesched_lint.commands.lint import cache
from kubesched_lint.commands.lint.cache import CacheFolder, Kept, cache_folder
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.findings import Report, Summary
from kubesched_lint.linter.linted import Linted
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}
"""
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: NAME}}
      containers: [{name: main, image: registry.example.com/shop:1}]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with manifests, a sketch and a cache, in which every set is worth keeping."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBESCHED_LINT_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "WORTHWHILE", 1)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "cluster.yaml").write_text(SKETCH)
    write("web", 5)
    return tmp_path


def write(name: str, replicas: int) -> None:
    text = WORKLOAD.replace("NAME", name).replace("REPLICAS", str(replicas))
    Path("manifests", f"{name}.yaml").write_text(text)


def lint(options: Options | None = None, **asked: object) -> Report:
    request = Request(**{"paths": ("manifests",), "cluster": "cluster.yaml", "cache": True, **asked})  # type: ignore[arg-type]
    return checked(request, options or Options(), Rulebook.shipped()).report


def entries() -> list[str]:
    return sorted(os.listdir("kept")) if os.path.isdir("kept") else []


def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one whenever a set is really judged."""
    from kubesched_lint.commands.lint import run as session

    times: list[int] = []
    real = session.linted

    def counted(*args: object, **more: object) -> Linted:
        times.append(1)
        return real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "linted", counted)
    return times


def test_an_unchanged_set_is_judged_once_and_told_alike(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = judged(monkeypatch)
    first, second = lint(), lint()
    assert len(times) == 1
    assert first == second
    assert [f.rule for f in second.findings] == ["anti-affinity-exceeds-domains"]


def test_whatever_changes_the_set_is_judged_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = judged(monkeypatch)
    lint()
    write("web", 3)
    assert not [f for f in lint().findings if f.rule == "anti-affinity-exceeds-domains"]
    Path("manifests/web.yaml").rename("manifests/shop.yaml")
    lint()
    write("more", 1)
    lint()
    Path("cluster.yaml").write_text(SKETCH.replace("count: 1", "count: 2"))
    lint()
    lint(Options(profile="strict"))
    lint(Options(params={"deploy-leaves-pending": {"most_pods": 1}}))
    lint(cluster_options=ClusterOptions(elastic=True))
    lint(cluster_options=ClusterOptions(node_groups="complete"))
    lint(cluster=None)
    Path("scheduler.yaml").write_text(SCHEDULER)
    lint(cluster_options=ClusterOptions(scheduler_config="scheduler.yaml"))
    Path("scheduler.yaml").write_text(f"{SCHEDULER}percentageOfNodesToScore: 50\n")
    lint(cluster_options=ClusterOptions(scheduler_config="scheduler.yaml"))
    monkeypatch.setattr(cache, "__version__", "99")
    lint()
    assert len(times) == len(entries()) == 13


def test_without_cache_nothing_is_kept_or_looked_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = judged(monkeypatch)
    lint(cache=False)
    assert entries() == []
    lint()
    lint(cache=False)
    assert len(times) == 3


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("labels: {app: web}", "labels: {app: web, tier: a b}"),
        ("labels: {app: web}", "labels: {app: web, a b: c}"),
        ("name: main,", "name: main, resources: {requests: {cpu: -1}},"),
        ("name: main,", "name: main, ? {a: b} : c,"),
        ("name: main,", "name: main, [a, b]: c,"),
        ("name: main,", "name: main, nope: [{a: {b: [c]}}],"),
    ],
)
def test_what_is_refused_is_kept_like_all_else(
    place: Path, monkeypatch: pytest.MonkeyPatch, written: str, wrong: str
) -> None:
    file = Path("manifests/web.yaml")
    file.write_text(file.read_text().replace(written, wrong))
    times = judged(monkeypatch)
    report = lint()
    assert report.errors or any(finding.rule == "api-would-reject" for finding in report.findings)
    assert lint() == report
    assert len(times) == 1


def test_a_small_set_is_not_worth_keeping(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTHWHILE", 1 << 20)
    lint()
    assert entries() == []


@pytest.mark.parametrize("content", [b"", b"\x00", b"not msgpack at all", b"\x82\xa6report\x80"])
def test_a_broken_entry_is_made_anew(place: Path, content: bytes) -> None:
    whole = lint()
    (entry,) = entries()
    Path("kept", entry).write_bytes(content)
    assert lint() == whole
    assert Path("kept", entry).read_bytes() != content


def test_half_an_entry_is_never_taken_for_one(place: Path) -> None:
    whole = lint()
    (entry,) = entries()
    data = Path("kept", entry).read_bytes()
    for length in range(0, len(data), 97):
        Path("kept", entry).write_bytes(data[:length])
        assert CacheFolder("kept").find(entry.removesuffix(".report"), lambda: datetime.now(UTC)) is None
    assert lint() == whole


def test_a_folder_that_cannot_be_written_is_no_error(place: Path) -> None:
    Path("kept").write_text("a file where the folder should be")
    assert lint() == lint()


def test_a_cluster_that_cannot_be_read_is_told_every_time(place: Path) -> None:
    Path("cluster.yaml").write_text("nodes: [")
    assert lint().errors
    assert lint().errors
    assert entries() == []


def test_the_age_of_a_snapshot_is_told_as_of_now(place: Path) -> None:
    from kubesched_lint.engine.cluster.cluster import Description

    kept = Kept(Report(summary=Summary(files=1)), Description("3 nodes", "", "2026-11-20T00:00:00Z", True))
    CacheFolder("kept").keep("a" * 40, kept)
    for day, age in ((22, "2 days"), (25, "5 days")):
        found = CacheFolder("kept").find("a" * 40, lambda day=day: datetime(2026, 11, day, tzinfo=UTC))
        assert found is not None
        assert found.summary.cluster == f"3 nodes, captured {age} ago"


def test_the_folder_stays_within_its_bound_and_the_longest_unused_go_first(place: Path) -> None:
    small = CacheFolder("kept", largest=4_000)
    report = Kept(Report(summary=Summary(notes=("x" * 900,))), None)
    for number in range(12):
        small.keep(f"{number:040}", report)
        os.utime(Path("kept", f"{number:040}.report"), (number, number))
        small.find(f"{0:040}", lambda: datetime.now(UTC))  # used each time
    assert sum(Path("kept", name).stat().st_size for name in entries()) <= 4_000
    assert f"{0:040}.report" in entries()
    assert f"{11:040}.report" in entries()
    assert f"{1:040}.report" not in entries()


def test_only_what_is_ours_is_removed(place: Path) -> None:
    Path("kept").mkdir()
    Path("kept/thesis.txt").write_text("x" * 10_000)
    CacheFolder("kept", largest=10).keep("a" * 40, Kept(Report(), None))
    assert entries() == ["thesis.txt"]


def test_where_entries_lie_follows_the_environment() -> None:
    home = cache_folder({"XDG_CACHE_HOME": "/caches"})
    assert home is not None
    assert home.folder == "/caches/kubesched-lint"
    given = cache_folder({"KUBESCHED_LINT_CACHE_DIR": "here", "XDG_CACHE_HOME": "/caches"})
    assert given is not None
    assert given.folder == "here"


def test_what_is_wrong_with_installed_rules_is_told_for_as_long_as_it_is(place: Path) -> None:
    from msgspec.structs import replace

    from kubesched_lint.rulebook.cards.frontmatter import CardError

    faulty = replace(Rulebook.shipped(), faults=(CardError("ops/rules/own.md", 3, "no such rule"),))
    request = Request(("manifests",), "cluster.yaml", cache=True)
    assert [e.path for e in checked(request, Options(), faulty).report.errors] == ["ops/rules/own.md"]
    assert entries() == []
    assert not lint().errors


def test_many_runs_at_once_tell_the_same(place: Path) -> None:
    for number in range(40):
        write(f"app-{number}", 5)
    filler = "# " + "x" * 7_000 + "\n"
    for path in Path("manifests").iterdir():
        path.write_text(filler + path.read_text())
    command = (sys.executable, "-m", "kubesched_lint", "lint", "manifests", "-c", "cluster.yaml", "-f", "json")
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {run.communicate()[0] for run in runs}
    assert len(outputs) == 1
    assert '"anti-affinity-exceeds-domains"' in outputs.pop()
    assert len(entries()) == 1
