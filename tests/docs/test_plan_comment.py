"""The action posts one comment with the plan and updates it in place; a stand-in server answers like the forges."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.docs.test_ci_files import ROOT, SHOP, SKETCH, committed, install, run_step, step

SCRIPT = ROOT / "ci" / "comment.py"
BOT = "github-actions[bot]"


class Forge:
    """Comments by number, each with author and text, and the requests that changed them."""

    def __init__(self) -> None:
        self.comments: dict[int, dict[str, Any]] = {}
        self.author = BOT
        self.requests: list[str] = []

    def add(self, author: str, body: str) -> int:
        number = len(self.comments) + 1
        self.comments[number] = {"id": number, "user": {"login": author}, "author": {"username": author}, "body": body}
        return number

    def page(self, number: int) -> list[dict[str, Any]]:
        return list(self.comments.values())[(number - 1) * 100 : number * 100]


@pytest.fixture
def forge() -> Iterator[tuple[Forge, str]]:
    found = Forge()

    class Answers(BaseHTTPRequestHandler):
        def answer(self, value: object, code: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            if where.path.endswith("/user"):
                self.answer({"username": found.author})
            else:
                self.answer(found.page(int(parse_qs(where.query)["page"][0])))

        def change(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            found.requests.append(f"{self.command} {self.path}")
            assert "secret" in f"{self.headers['Authorization']}{self.headers['PRIVATE-TOKEN']}"
            if self.command == "POST":
                found.add(found.author, body)
            else:
                found.comments[int(self.path.rpartition("/")[2])]["body"] = body
            self.answer({})

        do_POST = do_PATCH = do_PUT = change  # noqa: N815 - names of http.server

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield found, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def post(folder: Path, text: str, *about: str, **environ: str) -> subprocess.CompletedProcess[str]:
    file = folder / "plan.md"
    file.write_text(text)
    own = {**{name: value for name, value in os.environ.items() if "proxy" not in name.lower()}, **environ}
    return subprocess.run([sys.executable, SCRIPT, file, *about], env=own, capture_output=True, text=True, check=False)


def on_github(folder: Path, address: str, number: int | None = 7) -> dict[str, str]:
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": number}} if number else {}))
    where = {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "shop/repo", "GITHUB_EVENT_PATH": str(event)}
    return {**where, "GITHUB_TOKEN": "secret"}


def test_one_comment_is_updated_in_place(tmp_path: Path, forge: tuple[Forge, str]) -> None:
    found, address = forge
    for _ in range(120):
        found.add("alice", "a word")
    found.add("mallory", "<!-- mark -->\nmine")
    for text in ("<!-- mark -->\none", "<!-- mark -->\ntwo"):
        done = post(tmp_path, text, **on_github(tmp_path, address))
        assert (done.returncode, done.stderr) == (0, "")
    ours = [comment["body"] for comment in found.comments.values() if comment["user"]["login"] == BOT]
    assert ours == ["<!-- mark -->\ntwo"]
    assert found.comments[121]["body"] == "<!-- mark -->\nmine"
    assert found.requests == ["POST /repos/shop/repo/issues/7/comments", "PATCH /repos/shop/repo/issues/comments/122"]


def test_a_merge_request_gets_one_note(tmp_path: Path, forge: tuple[Forge, str]) -> None:
    found, address = forge
    where = {"CI_API_V4_URL": address, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "9", "GITLAB_TOKEN": "secret"}
    for text in ("<!-- mark -->\none", "<!-- mark -->\ntwo"):
        assert post(tmp_path, text, **where).returncode == 0
    assert [comment["body"] for comment in found.comments.values()] == ["<!-- mark -->\ntwo"]
    assert found.requests == ["POST /projects/3/merge_requests/9/notes", "PUT /projects/3/merge_requests/9/notes/1"]


def test_each_set_and_cluster_has_a_comment_of_its_own(tmp_path: Path, forge: tuple[Forge, str]) -> None:
    found, address = forge
    for cluster, text in (("prod.yaml", "one"), ("staging.yaml", "two"), ("prod.yaml", "three")):
        post(tmp_path, f"<!-- mark -->\n{text}", "manifests", cluster, **on_github(tmp_path, address))
    bodies = [comment["body"].partition("\n") for comment in found.comments.values()]
    assert [text for _, _, text in bodies] == ["three", "two"]
    assert all(mark.startswith("<!-- mark ") and mark.endswith(" -->") for mark, _, _ in bodies)


def test_without_a_pull_request_or_a_forge_nothing_is_posted(tmp_path: Path, forge: tuple[Forge, str]) -> None:
    found, address = forge
    assert post(tmp_path, "x", **on_github(tmp_path, address, None)).returncode == 0
    assert not found.requests
    done = post(tmp_path, "x", **on_github(tmp_path, "http://127.0.0.1:9"))
    assert done.returncode == 1
    assert "error: no comment" in done.stderr


def test_the_action_posts_the_plan(
    tmp_path: Path, program: Path, forge: tuple[Forge, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, address = forge
    for name, value in on_github(tmp_path, address).items():
        monkeypatch.setenv(name, value)
    install(program, tmp_path / "temp" / "kubesched-lint")
    work = tmp_path / "work"
    shutil.copytree(SHOP, work / "my manifests")
    shutil.copy(SKETCH, work / "cluster.yaml")
    committed(work)
    cache = work / "my manifests" / "cache.yaml"
    cache.write_text(cache.read_text().replace("replicas: 6", "replicas: 8"))
    inputs = {"paths": "my manifests\n", "cluster": "cluster.yaml", "plan": "main", "token": "secret"}
    code, shown, outputs = run_step(tmp_path, work, step("Plan"), inputs)
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    (comment,) = found.comments.values()
    mark, _, text = comment["body"].partition("\n")
    assert mark.startswith("<!-- kubesched-lint plan ")
    assert text.startswith("### ⛔ after this change 2 more pods stay Pending: shop/cache\n")
    assert "scaled 6 → 8" in text
    assert text == (tmp_path / "GITHUB_STEP_SUMMARY").read_text().partition("\n")[2]
    cache.write_text(cache.read_text().replace("replicas: 8", "replicas: 9"))
    run_step(tmp_path, work, step("Plan"), inputs)
    (updated,) = found.comments.values()
    assert "scaled 6 → 9" in updated["body"]


@pytest.mark.parametrize("paths", ["", "."])
def test_the_action_plans_for_every_target_in_one_comment(
    tmp_path: Path, program: Path, forge: tuple[Forge, str], monkeypatch: pytest.MonkeyPatch, paths: str
) -> None:
    found, address = forge
    for name, value in on_github(tmp_path, address).items():
        monkeypatch.setenv(name, value)
    install(program, tmp_path / "temp" / "kubesched-lint")
    work = tmp_path / "work"
    shutil.copytree(ROOT / "examples" / "targets-repo", work)
    committed(work)
    search = work / "shop" / "search.yaml"
    search.write_text(search.read_text().replace('cpu: "6"', 'cpu: "1"'))
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qam", "less"], cwd=work, check=True
    )
    code, shown, outputs = run_step(tmp_path, work, step("Plan"), {"paths": paths, "plan": "HEAD~1", "token": "secret"})
    assert (code, outputs) == (0, {"exit-code": "0"}), shown
    (comment,) = found.comments.values()
    assert "resource-exceeds-any-node" in comment["body"]
    for target in ("prod-eu", "prod-us", "edge"):
        assert target in comment["body"]


LARGE_PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.com/main:1.0", resources: {requests: {cpu: "3"}}}]}
"""


@pytest.mark.parametrize("cluster", ["cluster.yaml", ""], ids=["as an input", "of the configuration"])
def test_a_pinned_plan_has_the_cluster_of_the_base(tmp_path: Path, program: Path, cluster: str) -> None:
    """The pull request asks for more pods than the nodes can run, and brings nodes and a configuration of its own."""
    install(program, tmp_path / "temp" / "kubesched-lint")
    work = tmp_path / "work"
    work.mkdir()
    (work / "web.yaml").write_text(LARGE_PODS)
    shutil.copy(SKETCH, work / "cluster.yaml")
    (work / "kubesched.toml").write_text('cluster = "cluster.yaml"\n')
    committed(work)
    (work / "web.yaml").write_text(LARGE_PODS.replace("replicas: 4", "replicas: 8"))
    larger = (work / "cluster.yaml").read_text().replace("count: 2", "count: 4")
    (work / "cluster.yaml").write_text(larger)
    (work / "larger.yaml").write_text(larger)
    (work / "kubesched.toml").write_text('cluster = "larger.yaml"\n')
    inputs = {"paths": "web.yaml", "cluster": cluster, "plan": "main", "plan-fail-on": "error", "comment": "false"}
    code, shown, _ = run_step(tmp_path, work, step("Plan"), inputs)
    assert code == 0, shown
    code, shown, outputs = run_step(tmp_path, work, step("Plan"), inputs | {"pin": "main"})
    assert (code, outputs) == (1, {"exit-code": "1"}), shown
    assert "on 6 nodes" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    code, shown, outputs = run_step(tmp_path, work, step("Plan"), inputs | {"pin": "nowhere"})
    assert (code, outputs) == (2, {"exit-code": "2"})
    assert "pin: there is no such commit here" in shown
