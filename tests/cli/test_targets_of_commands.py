"""``--target`` of why, simulate, baseline and fleet; and what they do about targets that nobody names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.commands.lint.known import gone_from_all
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.findings import Severity
from kubesched_lint.project.baseline import KnownFinding

REPO = Path(__file__).parents[2] / "examples" / "targets-repo"
TYPO, LARGE = "nodeselector-matches-nothing", "resource-exceeds-any-node"
QUESTION = "kubesched.toml has 3 targets (prod-eu, prod-us, edge)"


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def rules_in(file: Path) -> list[str]:
    return sorted(entry["rule"] for entry in json.loads(file.read_text())["findings"])


def repair_large(repo: Path) -> None:
    """Make the pod of search small enough for each cluster."""
    search = repo / "shop" / "search.yaml"
    search.write_text(search.read_text().replace('cpu: "6"', 'cpu: "1"'))


# --- why and simulate -----------------------------------------------------------------------------------------------


def test_why_reads_the_paths_the_cluster_and_the_settings_of_a_target(repo: Path) -> None:
    fits, not_there = run("why", "search", "--target", "prod-eu"), run("why", "search", "--target", "edge")
    assert (fits.exit_code, run("why", "search", "--target", "prod-us").exit_code) == (0, 1)
    assert "on 4 of 4 nodes" in fits.stdout
    assert not_there.exit_code == 2
    assert run("why", "ingress/proxy", "--target", "edge").exit_code == 0, "the namespace of the target"


def test_simulate_reads_one_target(repo: Path) -> None:
    events = ("--events", "deploy", "--format", "json")
    cells = {}
    for name in ("prod-eu", "prod-us"):
        rows = json.loads(run("simulate", "--target", name, *events).stdout)["workloads"]
        cells[name] = {row["object"]: row["cells"][0]["verdict"] for row in rows}
    search, web = "Deployment shop/search", "Deployment shop/web"
    assert cells == {"prod-eu": {search: "fine", web: "bad"}, "prod-us": {search: "bad", web: "bad"}}


@pytest.mark.parametrize("command", [("why", "web"), ("simulate",)])
def test_paths_without_a_cluster_and_unknown_names_raise_one_question(repo: Path, command: tuple[str, ...]) -> None:
    for args, words in {
        ("shop",): f"{QUESTION}, and PATH has no cluster: name a target with --target, or give a --cluster.",
        ("--target", "edgy"): "did you mean `edge`?",
        ("shop", "--target", "edge"): "leave out PATH",
    }.items():
        done = run(*command, *args)
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr


def test_without_a_name_simulate_judges_every_target_on_its_cluster(repo: Path) -> None:
    for args in ((), (".",)):
        done = run("simulate", *args, "--events", "deploy", "--format", "json")
        rows = json.loads(done.stdout)["workloads"]
        found = {(row["object"], row.get("environment")): row["cells"][0]["verdict"] for row in rows}
        assert done.exit_code == 1
        assert found["Deployment shop/search", "prod-eu"] == "fine"
        assert found["Deployment shop/search", "prod-us"] == "bad"
        assert ("Deployment ingress/proxy", "edge") in found
        assert len([name for name, _ in found if name == "Deployment shop/web"]) == 2
    text = run("simulate", "--events", "deploy").stdout
    assert "shop/search (prod-us)" in text
    picture = run("simulate", "--events", "deploy", "--picture", "deploy")
    assert (picture.exit_code, "choose a target with --target" in picture.stderr) == (2, True)


def test_why_answers_for_every_target_that_has_the_workload(repo: Path) -> None:
    done = run("why", "search")
    assert done.exit_code == 1
    assert "Deployment shop/search (prod-eu)" in done.stdout
    assert "Deployment shop/search (prod-us)" in done.stdout
    told = json.loads(run("why", "search", "--format", "json").stdout)["answers"]
    assert [one["environment"] for one in told] == ["prod-eu", "prod-us"]
    nowhere = run("why", "no-such")
    assert (nowhere.exit_code, "nothing is named 'no-such'" in nowhere.stderr) == (2, True)


def test_audit_looks_at_the_cluster_of_every_target_once(repo: Path) -> None:
    config = repo / "kubesched.toml"
    without_pods = run("audit", "--format", "json")
    assert (without_pods.exit_code, without_pods.stderr.count("holds no Pods")) == (2, 3)
    for name in ("prod-eu", "prod-us", "edge"):
        shutil.copy(REPO.parents[1] / "fixtures/audit/aged.yaml", repo / f"clusters/{name}.yaml")
    done = run("audit", "--format", "json")
    audits = json.loads(done.stdout)["audits"]
    assert [one["targets"] for one in audits] == ["prod-eu", "prod-us", "edge"]
    config.write_text(config.read_text().replace("clusters/prod-us.yaml", "clusters/prod-eu.yaml"))
    audits = json.loads(run("audit", "--format", "json").stdout)["audits"]
    assert [one["targets"] for one in audits] == ["prod-eu, prod-us", "edge"]
    for output in ("text", "markdown"):
        assert "prod-eu, prod-us" in run("audit", "--format", output).stdout
    assert "audits" not in json.loads(run("audit", "--target", "edge", "--format", "json").stdout)
    assert "audits" not in json.loads(run("audit", "-c", "clusters/edge.yaml", "--format", "json").stdout)
    page = run("audit", "--format", "html")
    assert (page.exit_code, "--target" in page.stderr) == (2, True)


def test_the_paths_of_a_target_may_be_patterns(repo: Path) -> None:
    text = '[[targets]]\nname = "all"\npaths = ["teams/*/prod"]\ncluster = "clusters/prod-eu.yaml"\n'
    (repo / "kubesched.toml").write_text(text)
    nothing = run("simulate", "--events", "deploy")
    assert (nothing.exit_code, 'nothing matches "teams/*/prod"' in nothing.stderr) == (2, True), nothing.stderr
    for team in ("a", "b"):
        folder = repo / "teams" / team / "prod"
        folder.mkdir(parents=True)
        (folder / "web.yaml").write_text((repo / "shop/search.yaml").read_text().replace("search", f"search-{team}"))
    rows = json.loads(run("simulate", "--events", "deploy", "--format", "json").stdout)["workloads"]
    assert [row["object"] for row in rows] == ["Deployment shop/search-a", "Deployment shop/search-b"]
    (repo / "teams/c").mkdir()
    (repo / "teams/c/prod").symlink_to(repo.parent.parent)
    assert run("simulate", "--events", "deploy").exit_code == 2, "a link that leads out"


@pytest.mark.parametrize("command", [("why", "web"), ("simulate", "--events", "deploy")])
def test_the_only_target_is_meant(repo: Path, command: tuple[str, ...]) -> None:
    (repo / "kubesched.toml").write_text(
        '[[targets]]\nname = "a"\npaths = ["shop"]\ncluster = "clusters/prod-eu.yaml"\n'
    )
    assert run(*command).exit_code == 1


def test_a_cluster_by_flag_stands_for_that_of_every_target(repo: Path) -> None:
    done = run("why", "web", "--cluster", "clusters/edge.yaml")
    assert (done.exit_code, done.stdout.count("Deployment shop/web (prod-")) == (1, 1), "equal answers stand once"
    assert run("why", "web", "shop", "--cluster", "clusters/edge.yaml").exit_code == 1
    assert run("simulate", "shop", "--cluster", "clusters/edge.yaml", "--events", "deploy").exit_code == 1
    assert "Missing option '--cluster'" in run("simulate", "--no-config").stderr


def test_what_a_target_names_is_applied_together(repo: Path) -> None:
    """Two folders with a workload of one name are alternatives, unless a target names both."""
    (repo / "kubesched.toml").write_text(
        '[[targets]]\nname = "a"\npaths = ["common", "eu"]\ncluster = "clusters/prod-eu.yaml"\n'
    )
    search = (repo / "shop" / "search.yaml").read_text()
    for folder, extra in (("common", "queue"), ("eu", "mail")):
        (repo / folder).mkdir()
        (repo / folder / "all.yaml").write_text(f"{search}\n---\n{search.replace('search', extra)}")
    apart = ("common", "eu", "--cluster", "clusters/prod-eu.yaml")
    words = {
        ("simulate", "--events", "deploy"): "shop/queue",
        ("why", "mail"): "2 pods of the other manifests",
    }
    for command, word in words.items():
        together = run(*command).stdout
        assert "(common" in run(*command, *apart).stdout or "(eu" in run(*command, *apart).stdout
        assert "(common" not in together
        assert "(eu" not in together
        assert word in together
    assert "2 pods of the other manifests" not in run("why", "mail", *apart).stdout
    assert "(common, eu)" in run("lint", *apart).stdout
    assert "judged apart" not in run("lint", "-v").stdout


# --- baseline -------------------------------------------------------------------------------------------------------


def test_a_baseline_of_one_target_has_its_findings(repo: Path) -> None:
    assert run("baseline", "write", "--target", "prod-eu", "-o", "eu.json").exit_code == 0
    assert rules_in(repo / "eu.json") == [TYPO]
    assert run("baseline", "write", ".", "-o", "all.json").exit_code == 0
    assert rules_in(repo / "all.json") == [TYPO, LARGE]


def test_prune_over_all_targets_removes_what_none_of_them_has(repo: Path) -> None:
    run("baseline", "write")
    done = run("baseline", "prune")
    assert "2 known findings; 0 gone" in done.stderr, "the finding of prod-us alone is not gone"
    repair_large(repo)
    note = run("lint", "-j", "1", "--baseline", "kubesched-baseline.json", "-v").stdout
    assert "1 entry no longer occurs (resource-exceeds-any-node); `kubesched-lint baseline prune` removes" in note
    assert "1 known finding; 1 gone" in run("baseline", "prune").stderr
    assert rules_in(repo / "kubesched-baseline.json") == [TYPO]


def test_some_targets_never_remove_entries_of_others(repo: Path) -> None:
    run("baseline", "write")
    file = repo / "kubesched-baseline.json"
    before = file.read_text()
    for command in ("write", "prune"):
        done = run("baseline", command, "--target", "prod-eu")
        assert (done.exit_code, "kubesched-baseline.json is for all targets" in done.stderr) == (2, True)
    assert "nothing changed" in run("baseline", "update", "--target", "prod-eu").stderr
    assert file.read_text() == before
    (repo / "kubesched.toml").write_text(f'baseline = "{file.name}"\n{(repo / "kubesched.toml").read_text()}')
    assert "no longer" not in run("lint", "--target", "prod-eu").stdout


def test_a_file_of_its_own_is_pruned_for_one_target(repo: Path) -> None:
    run("baseline", "write", "--target", "prod-us", "-o", "us.json")
    repair_large(repo)
    named = ("--target", "prod-us", "--baseline", "us.json")
    assert "1 entry no longer occurs" in run("lint", *named, "-v").stdout
    assert "1 known finding; 1 gone" in run("baseline", "prune", *named).stderr


def test_update_adds_and_removes_over_all_targets(repo: Path) -> None:
    run("baseline", "write", "--target", "edge", "-o", "kubesched-baseline.json")
    added = run("baseline", "update")
    assert added.stdout.count("+ error") == 2
    assert "2 new, 0 gone" in added.stderr
    repair_large(repo)
    assert "0 new, 1 gone" in run("baseline", "update").stderr
    assert "nothing changed" in run("baseline", "update").stderr


def test_paths_of_a_repository_with_targets_need_a_cluster(repo: Path) -> None:
    done = run("baseline", "write", "shop")
    assert (done.exit_code, QUESTION in done.stderr) == (2, True)
    assert not (repo / "kubesched-baseline.json").exists()
    assert run("baseline", "write", "shop", "--cluster", "clusters/prod-us.yaml").exit_code == 0


def test_the_note_on_an_unused_baseline_counts_the_findings_of_all_targets(repo: Path) -> None:
    run("baseline", "write")
    shown = run("lint", "-j", "1").stdout
    assert shown.count("kubesched-baseline.json lists") == 1
    assert "kubesched-baseline.json lists 2 findings of this run" in shown


def test_an_entry_is_gone_only_if_no_target_may_have_it() -> None:
    entry = KnownFinding(TYPO, ObjectRef("Deployment", "shop", "web"), "spec", Severity.ERROR)
    gone, absent, found = ((entry,), ()), ((), (entry,)), ((), ())
    assert gone_from_all([gone, absent]) == (entry,)
    assert gone_from_all([gone, gone]) == (entry,)
    assert gone_from_all([gone, found]) == ()
    assert gone_from_all([absent, absent]) == (), "no target has the object: it may be in other files"
    assert gone_from_all([((entry, entry), ()), gone]) == (entry,), "one of the two is found in a target"


# --- fleet ----------------------------------------------------------------------------------------------------------


def fleet(*args: str) -> Result:
    return run("fleet", "--executor", "serial", *args)


def test_fleet_without_paths_has_a_column_for_each_target(repo: Path) -> None:
    done = fleet()
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert any(line.split() == ["prod-eu", "prod-us", "edge"] for line in lines)
    assert any(line.split() == [LARGE, "·", "1E", "·"] for line in lines)
    assert " target  prod-eu: 4 nodes" in done.stdout
    assert done.stdout.endswith("3 targets, 1 without errors\n")
    assert fleet("--target", "edge").exit_code == 0
    found = json.loads(fleet("--format", "json").stdout)
    assert [(c["name"], c["path"], c["exitCode"]) for c in found["clusters"]][1:] == [
        ("prod-us", "clusters/prod-us.yaml", 1),
        ("edge", "clusters/edge.yaml", 0),
    ]


def test_fleet_holds_the_targets_against_one_baseline(repo: Path) -> None:
    run("baseline", "write", "-o", "known.json")
    assert fleet("--baseline", "known.json").exit_code == 0
    repair_large(repo)
    assert "1 entry no longer occurs" in fleet("--baseline", "known.json").stdout


def test_fleet_asks_for_what_is_missing(repo: Path) -> None:
    for args, words in {
        ("shop",): "needs --clusters; leave out PATH to check the targets",
        ("--clusters", "clusters"): "Missing argument 'PATH…'",
        ("--clusters", "clusters", "--target", "edge"): "a target names its cluster; leave out --clusters",
        ("--no-config",): "Missing option '--clusters'",
        ("--no-config", "--target", "edge"): "has no [[targets]]",
        ("--executor", "ray"): "error: --executor ray: unknown; use processes[:N], threads[:N], serial, dask://",
    }.items():
        done = fleet(*args)
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr


# --- what the footer says -------------------------------------------------------------------------------------------


def test_the_config_line_says_each_thing_once(repo: Path) -> None:
    def config() -> str:
        (line,) = (
            line for line in run("lint", "-j", "1", "-v").stdout.splitlines() if line.strip().startswith("config  ")
        )
        return line.partition("config  ")[2]

    assert config() == "kubesched.toml makes nothing weaker"
    text = (repo / "kubesched.toml").read_text()
    (repo / "kubesched.toml").write_text(f'ignore = ["spread"]\n{text}node-groups = "open"\n')
    waived = "pool: genral}  # kubesched: ignore[nodeselector-matches-nothing] we know"
    web = repo / "shop" / "web.yaml"
    web.write_text(web.read_text().replace("pool: genral}", waived))
    weaker = 'kubesched.toml makes the gate weaker: ignore = ["spread"]; node-groups = "open" (in edge)'
    assert config() == f"{weaker}; 1 finding waived in the files (in prod-eu, prod-us)"


def test_files_that_several_targets_read_count_once(repo: Path) -> None:
    assert "checked  3 files (3 documents), 3 workloads" in run("lint", "-j", "1", "-v").stdout


def test_a_target_whose_cluster_is_not_there_says_so(repo: Path) -> None:
    (repo / "clusters" / "edge.yaml").unlink()
    done = run("lint", "-j", "1", "-v")
    assert done.exit_code == 2
    assert "error: clusters/edge.yaml: there is no such file" in done.stderr


# --- pinned clusters ------------------------------------------------------------------------------------------------


def test_config_files_lists_each_file_once(repo: Path) -> None:
    assert run("config", "files").stdout.split() == [f"clusters/{name}.yaml" for name in ("prod-eu", "prod-us", "edge")]
    text = (repo / "kubesched.toml").read_text()
    (repo / "kubesched.toml").write_text(f'cluster = "clusters/edge.yaml"\n{text}')
    assert run("config", "files").stdout.split()[0] == "clusters/edge.yaml"
    assert len(run("config", "files").stdout.split()) == 3
    (repo / "kubesched.toml").write_text(f'scheduler-config = "scheduler.yaml"\n{text}')
    assert run("config", "files").stdout.split()[0] == "scheduler.yaml"
    assert run("config", "files", "--no-config").stdout == ""


def test_config_files_leaves_out_what_no_file_can_be_called(repo: Path) -> None:
    text = (repo / "kubesched.toml").read_text()
    (repo / "kubesched.toml").write_text(f'scheduler-config = "a\\u0000b"\nrule-folders = ["\\u0000"]\n{text}')
    done = run("config", "files")
    assert (done.exit_code, len(done.stdout.split())) == (0, 3), done.output
    assert "U+0000" in run("lint").output


def test_clusters_come_from_a_copy_and_manifests_do_not(repo: Path) -> None:
    shutil.copytree(repo / "clusters", repo.parent / "copy" / "clusters")
    for file in (repo / "clusters").iterdir():
        file.write_text(file.read_text().replace("general", "genral"))
    repair_large(repo)
    assert run("lint", "-j", "1").exit_code == 0
    pinned = ("--files-from", str(repo.parent / "copy"))
    done = run("lint", "-j", "1", *pinned)
    assert (done.exit_code, "targets: prod-eu, prod-us" in done.stdout) == (1, True)
    assert run("lint", "--target", "prod-eu", *pinned).exit_code == 1
    (repo / "kubesched.toml").write_text(
        f'scheduler-config = "scheduler.yaml"\n{(repo / "kubesched.toml").read_text()}'
    )
    assert "copy/scheduler.yaml" in run("lint", "-j", "1", *pinned).output, "it is not in the copy"
    (repo / "kubesched.toml").write_text((REPO / "kubesched.toml").read_text())
    named = ("--cluster", "clusters/prod-eu.yaml")
    assert run("lint", "-j", "1", *pinned, *named).exit_code == 1, "a flag may name a file of the repository, too"
    shutil.copy(repo / "clusters" / "prod-eu.yaml", elsewhere := repo.parent / "elsewhere.yaml")
    named = ("--cluster", str(elsewhere))
    assert run("lint", "-j", "1", *pinned, *named).exit_code == 0, "a cluster by flag overrides every target"
