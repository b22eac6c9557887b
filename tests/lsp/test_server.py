"""The language server, asked by a client over pipes as an editor asks it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubesched_lint.cli import lsp
from tests.lsp.client import CAPABILITIES, Message, serving

ROOT = Path(__file__).parents[2]
SKETCH = ROOT / "fixtures/clusters/three-zones.yaml"
CACHE = (ROOT / "fixtures/shop/cache.yaml").read_text()
RULE = "anti-affinity-exceeds-domains"
LENS = "deploy 3/6 · rollout stuck · node loss 2–3/6 unreachable · zone loss 2/6 · drain 3/6"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with one manifest, which has an error, a sketch, and a configuration that names it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/cache.yaml").write_text(CACHE)
    shutil.copy(SKETCH, tmp_path / "cluster.yaml")
    (tmp_path / "kubesched.toml").write_text('cluster = "cluster.yaml"\nnode-groups = "complete"\n')
    return tmp_path


def lines(found: Sequence[Message], rule: str = RULE) -> list[int]:
    return [one["range"]["start"]["line"] for one in found if one.get("code") == rule]


def applied(text: str, edits: Sequence[Message]) -> str:
    """The text after edits whose positions count code points, as those of ASCII do."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for edit in sorted(edits, key=lambda e: e["range"]["start"]["line"], reverse=True):
        start, end = (starts[edit["range"][at]["line"]] + edit["range"][at]["character"] for at in ("start", "end"))
        text = f"{text[:start]}{edit['newText']}{text[end:]}"
    return text


def test_what_an_editor_does(shop: Path, program: Path) -> None:
    file = shop / "manifests/cache.yaml"
    with serving(program, folder=shop) as client:
        can = client.start(shop)
        assert can["positionEncoding"] == "utf-16"
        client.open(file)
        found = client.finding(file, RULE)
        assert (found["severity"], lines([found])) == (1, [17])
        assert "proof: 6 pods > 3 zones" in found["message"]
        (related,) = found["relatedInformation"]
        assert related["message"] == "6 replicas wanted here"
        assert related["location"]["range"]["start"] == {"line": 7, "character": 12}
        assert client.lenses(file) == [(2, LENS)]

        card = client.hover(file, 17, 20)
        assert card.startswith(f"# {RULE}\n")
        assert card.count("```yaml") == 1, "only what to use instead: the other examples are tests"
        explained = client.hover(file, 4, 9)
        assert "Deployment shop/cache: replica 4 of 6 fits on none of 6 nodes: " in explained, "who finds no node"
        assert "3 replicas stay Pending" in explained or "deploy 3/6" in explained, "and what happens when"
        assert client.hover(file, 8, 3) == ""

        (action,) = client.actions(file, 18, 18)
        assert action["title"].endswith("(unsafe: it may change where pods run, or weaken a guarantee)")
        assert (action["kind"], action["isPreferred"], action["diagnostics"][0]) == ("quickfix", False, found)
        (change,) = action["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": file.as_uri(), "version": 1}
        assert client.actions(file, 0, 10) == []

        assert lines(client.type(file, "# one\n# two\n" + CACHE + "  oops: [\n", 2)) == [19], "broken: it has moved"
        broken = client.type(file, "# one\n" + CACHE + "  oops: [\n", 3)
        assert lines(broken) == [18]
        assert [one["message"] for one in broken if "code" not in one] != []
        fixed = applied(CACHE, change["edits"])
        client.type(file, fixed, 4)
        client.shown(file, lambda params: params["version"] == 4 and not lines(params["diagnostics"]))
        assert file.read_text() == CACHE


OLD_KEY = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {annotations: {note: "🦔é"}, labels: {app: web}}, spec: {topologySpreadConstraints: [{\
maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, \
topologyKey: failure-domain.beta.kubernetes.io/zone}], containers: [{name: web, image: "shop/web:1"}]}}
"""


@pytest.mark.parametrize(("units", "hedgehog", "accent"), [("utf-16", 2, 1), ("utf-8", 4, 2), ("utf-32", 1, 1)])
def test_columns_count_what_the_client_counts(
    shop: Path, program: Path, units: str, hedgehog: int, accent: int
) -> None:
    file = shop / "manifests/web.yaml"
    (shop / "kubesched.toml").unlink()
    general = {"positionEncodings": [units]}
    with serving(program, folder=shop) as client:
        assert client.start(shop, capabilities={**CAPABILITIES, "general": general})["positionEncoding"] == units
        client.open(file, OLD_KEY)
        found = client.finding(file, "topology-key-typo-deprecated")
        line = OLD_KEY.split("\n")[6]
        before = line.index("failure-domain") + (hedgehog - 1) + (accent - 1)
        key = len("failure-domain.beta.kubernetes.io/zone")
        assert found["range"]["start"] == {"line": 6, "character": before}
        assert found["range"]["end"] == {"line": 6, "character": before + key}
        assert client.hover(file, 6, before + key).startswith("# topology-key-typo-deprecated")
        action = next(one for one in client.actions(file, 6, 7) if one["title"] == "write topology.kubernetes.io/zone")
        assert action["isPreferred"], "it is safe"
        (edit,) = action["edit"]["documentChanges"][0]["edits"]
        assert edit["range"]["start"]["character"] >= before


def test_a_configuration_that_is_wrong_is_said_and_read_again(shop: Path, program: Path) -> None:
    file, config = shop / "manifests/cache.yaml", shop / "kubesched.toml"
    text = config.read_text()
    config.write_text('cluster = "live:prod"\n')
    with serving(program, folder=shop) as client:
        client.start(shop)
        assert client.open(file) == []
        (problem,) = client.shown(config, lambda params: bool(params["diagnostics"]))
        assert "live" in problem["message"], "a repository names no live cluster, here as in lint"
        assert problem["range"]["start"]["line"] == 0
        config.write_text(text)
        client.tell("workspace/didChangeWatchedFiles", changes=[{"uri": config.as_uri(), "type": 2}])
        client.finding(file, RULE)
        client.shown(config, lambda params: not params["diagnostics"])


def test_the_targets_of_the_configuration_are_judged_together(shop: Path, program: Path) -> None:
    file, sketch = shop / "manifests/cache.yaml", shop / "cluster.yaml"
    text = sketch.read_text()
    (shop / "large.yaml").write_text(text.replace("count: 2", "count: 7"))
    names = [("eu", "cluster.yaml"), ("us", "large.yaml"), ("none", "cluster.yaml")]
    targets = [f'[[targets]]\nname = "{name}"\npaths = ["manifests"]\ncluster = "{file}"\n' for name, file in names]
    (shop / "other").mkdir()
    targets[2] = targets[2].replace("manifests", "other")
    (shop / "other/web.yaml").write_text(OLD_KEY)
    (shop / "kubesched.toml").write_text("".join(targets))
    with serving(program, folder=shop) as client:
        client.start(shop)
        client.open(file)
        found = client.finding(file, RULE)
        assert "targets: eu, us" in found["message"]
        assert [title[:3] for _, title in client.lenses(file)] == ["eu:", "us:"]
        assert client.hover(file, 2, 6).count("Deployment shop/cache: replica 4 of 6 fits on none") == 2
        (action,) = client.actions(file, 18, 18)
        assert "(tried for the target eu only)" in action["title"]
        assert not action["isPreferred"]
        sketch.write_text(text.replace("zones: [", "zones: [x, y, z, "))
        client.tell("workspace/didChangeWatchedFiles", changes=[{"uri": sketch.as_uri(), "type": 2}])
        client.shown(file, lambda params: "targets: us" in str(params["diagnostics"]))


def test_files_come_go_and_are_made(shop: Path, program: Path) -> None:
    file, new, linked = (shop / "manifests" / name for name in ("cache.yaml", "new.yaml", "linked.yaml"))
    (shop.parent / "outside.yaml").write_text(CACHE)
    with serving(program, "--no-config", "-c", str(SKETCH), "--node-groups", "complete", folder=shop) as client:
        client.start(shop)
        client.open(new, CACHE.replace("name: cache", "name: new", 1))
        client.finding(new, RULE)
        client.finding(file, RULE)
        client.tell("textDocument/didClose", textDocument={"uri": new.as_uri()})
        client.shown(new, lambda params: not params["diagnostics"])
        linked.symlink_to(shop.parent / "outside.yaml")
        file.write_text(CACHE.replace("replicas: 6", "replicas: 2"))
        client.tell("workspace/didChangeWatchedFiles", changes=[{"uri": file.as_uri(), "type": 2}])
        client.shown(file, lambda params: not lines(params["diagnostics"]))
        (problem,) = client.shown(linked, lambda params: bool(params["diagnostics"]))
        assert problem["message"] == "a link that leads out of the repository: it is not read"


def test_open_folders_may_share_targets_and_may_hold_nothing(shop: Path, program: Path) -> None:
    file, empty = shop / "manifests/cache.yaml", shop.parent / "empty"
    empty.mkdir()
    target = '[[targets]]\nname = "eu"\npaths = ["manifests"]\ncluster = "cluster.yaml"\nnode-groups = "complete"\n'
    (shop / "kubesched.toml").write_text(target)
    with serving(program, folder=shop) as client:
        client.start(shop, shop / "manifests", empty)
        client.open(file)
        client.finding(file, RULE)
        gone = [{"uri": shop.as_uri(), "name": "shop"}]
        client.tell("workspace/didChangeWorkspaceFolders", event={"added": [], "removed": gone})
        client.type(file, CACHE + "# 2\n", 2)
        client.finding(file, RULE)
        assert client.lenses(file) == [(2, LENS)]
        (said,) = [message for message in client.said if str(empty) in str(message.get("params"))]
        assert said["method"] == "window/logMessage"


def test_a_file_without_a_folder_is_judged_with_the_configuration_above_it(shop: Path, program: Path) -> None:
    file = shop / "manifests/cache.yaml"
    (shop / "manifests/web.yaml").write_text(OLD_KEY)
    with serving(program, folder=shop.parent) as client:
        client.start()
        client.tell(
            "textDocument/didOpen", textDocument={"uri": "untitled:1", "languageId": "", "version": 1, "text": ""}
        )
        client.open(file)
        client.finding(file, RULE)
        client.lenses(file)
        client.tell("textDocument/didClose", textDocument={"uri": file.as_uri()})
        client.shown(file, lambda params: not params["diagnostics"])
        files = {m["params"]["uri"] for m in client.said if m.get("method") == "textDocument/publishDiagnostics"}
        assert files == {file.as_uri()}


def test_the_card_of_a_repository_loads_nothing(shop: Path, program: Path) -> None:
    file, rules = shop / "manifests/pod.yaml", shop / "ops"
    rules.mkdir()
    card = (ROOT / "examples/rules/no-bare-pods.md").read_text()
    ways = r"![a](https://example.com/a.png) \![a][b] <img src=https://example.com/b.png> \<img src=c> <!-- d -->"
    (rules / "no-bare-pods.md").write_text(card.replace("## Why it hurts\n", f"## Why it hurts\n\n{ways}\n"))
    (shop / "kubesched.toml").write_text('rule-folders = ["ops"]\n')
    file.write_text('{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: "b:1"}]}}\n')
    with serving(program, folder=shop) as client:
        client.start(shop)
        client.open(file)
        found = client.finding(file, "no-bare-pods")
        shown = client.hover(file, 0, found["range"]["start"]["character"])
        assert "# no-bare-pods" in shown
        assert r"! [a](https://example.com/a.png) \! [a][b] < img src=https://example.com/b.png>" in shown
        assert not re.search(r"!\[|<[a-z!]", shown)


def test_without_pygls_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lsp, "has_lsp", lambda: False)
    with pytest.raises(SystemExit) as ended:
        lsp.app([])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: the language server needs pygls: pip install 'kubesched-lint[lsp]'\n"
