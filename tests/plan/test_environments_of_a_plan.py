"""``plan`` judges every environment of the manifests, and every target, and names those that something holds in."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from kubesched_lint.commands.plan import judging
from kubesched_lint.commands.simulate.run import simulate
from tests.plan.test_plan import ROOT, ZONES, web
from tests.plan.test_plan_command import company, found, git
from tests.program import called

QUESTION = ("--events", "deploy,rollout", "-c", str(ZONES))


def write(folder: Path, path: str, replicas: int, name: str = "web") -> None:
    value = web(replicas=replicas)
    value["metadata"]["name"] = name
    value["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two overlays beside a database that both share."""
    folder = tmp_path / "shop"
    for environment in ("prod", "staging"):
        write(folder, f"overlays/{environment}/web.yaml", 2)
    write(folder, "db.yaml", 1, "db")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "base")
    return folder


def test_a_change_of_one_overlay_is_a_row_of_its_environment(shop: Path) -> None:
    write(shop, "overlays/prod/web.yaml", 40)
    done = called("plan", "main", ".", *QUESTION, cwd=shop)
    assert done.returncode == 1, done.stderr
    assert re.search(
        r"\n  shop/web \(prod\) +scaled 2 → 40, starts no rollout  overlays/prod/web.yaml:1\n", done.stdout
    )
    assert "(staging)" not in done.stdout
    assert "judged prod and staging on" in done.stdout
    value = found(called("plan", "main", ".", *QUESTION, "--format", "json", cwd=shop))
    assert value["environments"] == ["prod", "staging"]
    rows = {(one["object"]["name"], one.get("environment")) for one in value["workloads"]}
    assert ("web", "prod") in rows
    assert ("web", "staging") not in rows
    comment = called("plan", "main", ".", *QUESTION, "--format", "markdown", cwd=shop).stdout
    assert "in prod and staging on" in comment
    assert "shop/web (prod)" in comment


def test_environments_of_a_plan_share_the_limit_of_steps_as_in_simulate(shop: Path, monkeypatch) -> None:
    """Else the same cell has more traces in a plan, and may say something else there than in ``simulate``."""

    def told(*args, of_environments: int = 1, **more):
        print(f"one of {of_environments}", file=sys.stderr)  # the process is another one
        return simulate(*args, of_environments=of_environments, **more)

    monkeypatch.setattr(judging, "simulate", told)
    write(shop, "db.yaml", 2, "db")
    done = called("plan", "main", ".", *QUESTION, cwd=shop, as_patched=True)
    assert done.returncode == 0
    assert done.stderr.count("one of 2\n") == 4, "two sides of two environments"


def test_an_environment_may_be_chosen(shop: Path) -> None:
    write(shop, "overlays/prod/web.yaml", 3)
    staging = found(called("plan", "main", ".", *QUESTION, "--env", "staging", "--format", "json", cwd=shop))
    assert (staging["environments"], staging["workloads"]) == (["staging"], [])
    wrong = called("plan", "main", ".", *QUESTION, "--env", "prd", cwd=shop)
    assert (wrong.returncode, "did you mean `prod`" in wrong.stderr) == (2, True)


def test_a_change_of_what_all_share_is_said_once(shop: Path) -> None:
    write(shop, "db.yaml", 2, "db")
    value = found(called("plan", "main", ".", *QUESTION, "--format", "json", cwd=shop))
    (one,) = [each for each in value["workloads"] if each["object"]["name"] == "db"]
    assert (one["actions"], "environment" in one) == (["scaled"], False)


def test_a_new_overlay_creates_and_a_removed_one_removes(shop: Path) -> None:
    write(shop, "overlays/dev/web.yaml", 1)
    shutil.rmtree(shop / "overlays/staging")
    value = found(called("plan", "main", ".", *QUESTION, "--format", "json", cwd=shop))
    actions = {(one.get("environment"), one["object"]["name"]): one["actions"] for one in value["workloads"]}
    assert actions == {("dev", "web"): ["created"], ("staging", "web"): ["removed"]}


def test_the_first_overlay_beside_another_is_no_change_of_it(shop: Path) -> None:
    shutil.rmtree(shop / "overlays/prod")
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "staging only")
    write(shop, "overlays/prod/web.yaml", 2)
    value = found(called("plan", "main", ".", *QUESTION, "--format", "json", cwd=shop))
    actions = {(one.get("environment"), one["object"]["name"]): one["actions"] for one in value["workloads"]}
    assert actions == {("prod", "web"): ["created"]}


def test_a_folder_as_base_has_the_same_environments(shop: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(shop / "overlays", before / "overlays")
    write(shop, "overlays/prod/web.yaml", 3)
    (shop / "db.yaml").unlink()
    value = found(called("plan", str(before), "shop", *QUESTION, "--format", "json", cwd=tmp_path))
    assert [(one.get("environment"), one["actions"]) for one in value["workloads"]] == [("prod", ["scaled"])]


def test_each_target_is_planned_on_its_cluster(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    shutil.copytree(ROOT / "examples/targets-repo", repo)
    git(tmp_path, "init", "-q", "-b", "main", str(repo))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "base")
    file = repo / "shop/search.yaml"
    file.write_text(file.read_text().replace('cpu: "6"', 'cpu: "1"'))
    for arguments in (("main",), ("main", "."), ()):
        done = called("plan", *arguments, "--events", "deploy", "--format", "json", cwd=repo)
        value = found(done)
        assert value["environments"] == ["prod-eu", "prod-us", "edge"], done.stderr
        (us,) = [one for one in value["workloads"] if one.get("environment") == "prod-us"]
        assert [(c["event"], c["direction"]) for c in us["cells"]] == [("deploy", "better")]
    one = found(called("plan", "main", "--target", "edge", "--events", "deploy", "--format", "json", cwd=repo))
    assert one["workloads"] == []


def test_a_page_names_the_environment(shop: Path) -> None:
    write(shop, "overlays/prod/web.yaml", 40)
    done = called("plan", "main", ".", *QUESTION, "--format", "html", cwd=shop)
    assert "shop/web (prod)" in done.stdout


def test_simulate_shows_prod_of_the_company(tmp_path: Path) -> None:
    repo = company(tmp_path / "company")
    text = called("simulate", ".", "--events", "deploy", cwd=repo).stdout
    assert "shop/web (prod)" in text
    assert "shop/web (staging)" in text
    assert text.count("\nshop/cart ") == 1, "what is the same in both stands once"
