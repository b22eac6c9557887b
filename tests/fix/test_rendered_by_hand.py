"""What a tool rendered is not written: the message names the place in the source, and the change to make there."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.commands.fix.search import mend
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.document import Document, Written
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.rendered.provenance import KustomizeRendering

BASE = """\
# Owned by the shop team.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: web}}
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
"""


def rendered(overlay: str) -> list[Document]:
    """The base as the overlay renders it: without the comment, with a namespace."""
    text = BASE.partition("\n")[2].replace("name: web}", f"name: web, namespace: {overlay}}}", 1)
    kustomization = Written(f"{overlay}/kustomization.yaml", f"resources: [../base]\nnamespace: {overlay}\n")
    base = Written("base/web.yaml", BASE)
    how = f"kubectl kustomize {overlay}"
    rendering = KustomizeRendering(text, how, (kustomization,), (base,), {1: base.path})
    found = documents(how, text.encode(), is_read)
    return [replace(entry, rendering=rendering) for entry in found if isinstance(entry, Document)]


def test_a_fix_of_a_base_names_the_line_of_the_base_and_the_change() -> None:
    manifests, book = manifest_set([*rendered("prod"), *rendered("test")], "default"), Rulebook.shipped()
    report, _ = lint(manifests, None, Options(), book.select(select=["spread-rollout-skew"]))
    found = mend(manifests, None, Options(select=("spread-rollout-skew",)), book, report)
    assert found.refused == (
        "base/web.yaml:12: spread-rollout-skew is not fixed: a tool rendered it; in base/web.yaml:12, add "
        "matchLabelKeys: [pod-template-hash], so that each revision counts by itself (2 objects)",
    )
