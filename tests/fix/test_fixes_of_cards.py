"""Every card that promises a fix has one: its hazard is gone when it is applied, and no other comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.fix.proposals import subject_of
from kubesched_lint.commands.fix.search import Mended, mend
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.lint_text import manifests_of
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.examples import CLUSTER, Example, ExampleOptions, examples, rules_for
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.share import every

BOOK = Rulebook.shipped()
FIXABLE = [rule for rule in BOOK if rule.fix]

NODES = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 3, zones: [eu-west-1a], labels: {disktype: ssd, example.com/rack: r1}}
- {name: gpu, count: 1, zones: [eu-west-1a], labels: {pool: gpu}, taints: [dedicated=gpu:NoSchedule]}
"""
POOLS = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [eu-west-1a]}
pools:
- name: fast
  zones: [eu-west-1a]
  labels: {disktype: ssd}
  shapes: [{name: m6i.large, allocatable: {cpu: "2", memory: 7Gi}}]
  limits: {nodes: 3}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      %s
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
"""
WRONG_KEY = """\
topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: example.com/Rack
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]"""
WRONG_TAINT = """\
nodeSelector: {pool: gpu}
      tolerations:
      - {key: dedicated, value: gpus, effect: NoSchedule}"""
AGENT = (DEPLOYMENT % "nodeSelector: {disktype: SSD}").replace("Deployment", "DaemonSet").replace("  replicas: 2\n", "")
SOFT = AGENT.replace(
    "nodeSelector: {disktype: SSD}",
    "topologySpreadConstraints:\n      - maxSkew: 1\n        topologyKey: topology.kubernetes.io/zone\n"
    "        whenUnsatisfiable: ScheduleAnyway\n        labelSelector: {matchLabels: {app: web}}",
)
PINNED = next(iter(examples(BOOK.card("pvc-nodename-wffc")))).manifest
TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: shop}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
"""
KEPT = TEMPLATE + "".join(f"    {line}" for line in PINNED.split("spec:\n", 1)[1].split("---\n")[0].splitlines(True))
KEPT += "---\n" + PINNED.split("---\n", 1)[1]


def made(slug: str, manifest: str, cluster: str) -> Example:
    return Example(slug, __file__, 1, manifest, cluster=cluster)


FURTHER = (  # what no example on a card shows
    made("topology-key-missing-on-nodes", DEPLOYMENT % WRONG_KEY, NODES),
    made("toleration-matches-no-taint", DEPLOYMENT % WRONG_TAINT, NODES),
    made("daemonset-matches-no-node", AGENT, NODES),
    made("pvc-nodename-wffc", PINNED.replace("worker-1", "worker-eu-west-1a-1"), NODES),
    made("pvc-nodename-wffc", KEPT.replace("worker-1", "worker-eu-west-1a-1"), NODES),
    made("spread-on-daemonset", SOFT, NODES),
    made("pool-cannot-provide-label", DEPLOYMENT % "nodeSelector: {disktype: SSD}", POOLS),
)


def cases(slug: str) -> Iterator[Example]:
    yield from (example for example in examples(BOOK.card(slug)) if example.has("finding"))
    yield from (example for example in FURTHER if example.slug == slug)


class Workspace:
    """An example as a file on disk."""

    def __init__(self, example: Example, folder: Path) -> None:
        setting: ExampleOptions = example.setting
        self.file = folder / f"{example.slug}-{example.line}.yaml"
        self.file.write_text(example.manifest)
        self.rules = rules_for(example, BOOK)
        self.options = Options(
            profile=setting.profile,
            select=tuple(rule.slug for rule in self.rules),
            namespace=setting.namespace,
            apply_order=setting.apply_order,
            kubernetes_version=setting.kubernetes_version,
            params={example.slug: setting.params},
        )
        self.cluster = None
        if example.cluster is not None:
            self.cluster = cluster_from([(CLUSTER, example.cluster.encode())], CLUSTER, elastic=setting.elastic)
        self._before = manifests_of(example).before
        self._linted: dict[bytes, tuple[ManifestSet, Report]] = {}

    def linted(self, data: bytes) -> tuple[ManifestSet, Report]:
        """Lint the file with these bytes, once for all searches."""
        if data not in self._linted:
            manifests = manifest_set(documents(str(self.file), data, SHIPPED.is_read), self.options.namespace)
            manifests = replace(manifests, before=self._before)
            report, _ = lint(manifests, self.cluster, self.options, self.rules)
            self._linted[data] = manifests, suppress(report, manifests, BOOK, self.rules, self.options)
        return self._linted[data]

    def findings(self, data: bytes) -> list[Finding]:
        _, report = self.linted(data)
        assert not report.errors
        return [finding for finding in report.findings if finding.suppressed is None]

    def mended(self, *, unsafe: bool) -> Mended:
        manifests, report = self.linted(self.file.read_bytes())
        return mend(manifests, self.cluster, self.options, BOOK, report, unsafe=unsafe)

    def proposes(self) -> bool:
        """Whether the report says that --diff proposes fixes."""
        manifests, _ = self.linted(self.file.read_bytes())
        report = report_on(manifests, self.cluster, (), self.options, BOOK, rules=self.rules)
        return report.summary.proposes_fixes


@pytest.mark.parametrize("slug", every(3, [rule.slug for rule in FIXABLE]))
def test_the_hazard_is_gone_and_none_has_come(slug: str, tmp_path: Path) -> None:
    gone = {False: 0, True: 0}
    for example in cases(slug):
        desk = Workspace(example, tmp_path)
        findings = desk.findings(example.manifest.encode())
        before = Counter(map(subject_of, findings))
        fixed, further, applied = {}, {}, {}
        for unsafe in (False, True):
            mended = desk.mended(unsafe=unsafe)
            fixed[unsafe], further[unsafe], applied[unsafe] = mended.fixed, mended.unsafe, len(mended.fixes)
            after = Counter(
                subject_of(finding) for open_file in mended.open_files for finding in desk.findings(open_file.data)
            )
            if mended.open_files:
                assert after < before, "less of what there was, and nothing else"
                assert sum(before.values()) - sum(after.values()) == mended.fixed
                gone[unsafe] += sum(n for (rule, _), n in (before - after).items() if rule == slug)
            assert not [words for words in mended.refused if "failed" in words]
        assert desk.proposes() or not applied[True], f"{example}: a fix that the report does not speak of"
        assert fixed[False] + further[False] == fixed[True], str(example)
    assert gone[True], "no example shows a fix"
    if BOOK.get(slug).fix == "safe":
        assert gone[False], "the card promises a safe fix, and no example shows one"
    else:
        assert not gone[False], "the card says unsafe, and yet the fix was taken for a safe one"


def test_all_findings_of_all_examples_together_are_mended_in_one_go(tmp_path: Path) -> None:
    """Many files and objects at once: halves are tried, and what does not help is left out."""
    parts = [example.manifest for rule in FIXABLE for example in cases(rule.slug) if example.cluster is None]
    texts = {f"{n}.yaml": text.replace("namespace: shop", f"namespace: shop-{n}") for n, text in enumerate(parts)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    options = Options()
    entries = [
        d for name, text in texts.items() for d in documents(str(tmp_path / name), text.encode(), SHIPPED.is_read)
    ]
    manifests = manifest_set(entries, "default")
    rules = BOOK.select()
    report = suppress(lint(manifests, None, options, rules)[0], manifests, BOOK, rules, options)
    mended = mend(manifests, None, options, BOOK, report, unsafe=True)
    assert mended.fixed > 20
    assert len(mended.open_files) > 10
    assert not any("trials" in words for words in mended.refused)


def test_what_unsafe_fixes_would_mend_is_counted_at_a_bounded_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubesched_lint.commands.fix.search.MOST_REMEDIES", 1)
    example = next(iter(cases("affinity-deadlock-cycle")))
    mended = Workspace(example, tmp_path).mended(unsafe=False)
    assert (mended.unsafe, mended.counted) == (2, False)
    monkeypatch.setattr("kubesched_lint.commands.fix.search.MOST_REMEDIES", 3)
    mended = Workspace(example, tmp_path).mended(unsafe=False)
    assert (mended.unsafe, mended.counted) == (2, True)
    monkeypatch.setattr("kubesched_lint.commands.fix.search.MOST_TRIALS", 1)
    mended = Workspace(example, tmp_path).mended(unsafe=True)
    assert mended.fixed == 0
    assert mended.refused == ("stopped after 1 trial: run --fix again to continue",)
