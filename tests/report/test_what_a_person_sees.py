"""What the specification of all reports asks for, where no other test reads it: counts, widths, words, defaults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.plan.test_plan_command import company as company_in
from tests.plan.test_plan_command import git
from tests.program import called, lines_on_a_terminal
from tests.share import first

ROOT = Path(__file__).parents[2]
COMPANY, SHOP = ROOT / "fixtures/company", ROOT / "fixtures/shop"
NODES = ROOT / "fixtures/clusters/three-zones.yaml"
GONE = re.compile(r"not established|not proven|forever|would be an error")


@pytest.mark.parametrize("file", sorted((ROOT / "fixtures/golden").glob("*.txt")), ids=lambda file: file.name)
def test_no_golden_report_has_a_word_that_is_gone(file: Path) -> None:
    assert not GONE.search(file.read_text())


# --- one definition of a finding --------------------------------------------------------------------------------------


def counted(folder: Path, *ask: str) -> dict[str, int]:
    """Return report → how many findings it counts."""
    text = called("lint", *ask, cwd=folder).stdout.split("\n\n")[-1].splitlines()[0].partition(" in ")[0]
    value = json.loads(called("lint", *ask, "--format", "json", cwd=folder).stdout)
    concise = called("lint", *ask, "--format", "concise", cwd=folder)
    diff = called("lint", *ask, "--diff", "--unsafe-fixes", cwd=folder).stderr
    known = called("baseline", "write", *ask, "--output", "baseline.json", cwd=folder)
    (folder / "baseline.json").unlink()
    plan = json.loads(called("plan", "HEAD", *ask, "--format", "json", cwd=folder).stdout)
    return {
        "text": sum(map(int, re.findall(r"\d+", text))),
        "json": len(value["findings"]),
        "summary of json": sum(value["summary"]["findings"].values()),
        "concise": len(concise.stdout.splitlines()),
        "baseline": int(re.search(r"(\d+) known finding", known.stdout + known.stderr)[1]),  # type: ignore[index]
        "diff": int(re.search(r" of (\d+) finding", diff)[1]),  # type: ignore[index]
        "plan": sum(plan["findings"]["unchanged"].values()),
    }


@pytest.mark.parametrize(("of", "count"), first(1, [("shop", 4), ("company", 11)]))
def test_every_command_counts_the_same_findings(tmp_path: Path, of: str, count: int) -> None:
    if of == "company":
        repo, ask = company_in(tmp_path / "company"), ()
        git(repo, "checkout", "-q", ".")
    else:
        repo, ask = tmp_path, (".", "-c", str(NODES))
        for file in SHOP.glob("*.yaml"):
            (repo / file.name).write_text(file.read_text())
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "base")):
            git(repo, *words)
    told = counted(repo, *ask)
    assert told == dict.fromkeys(told, count)


def test_a_set_that_is_short_of_room_is_told_once(tmp_path: Path) -> None:
    """Without the last of the workloads, others do not fit, either: that is no second cause."""
    repo = company_in(tmp_path / "company")
    git(repo, "checkout", "-q", ".")
    etl = repo / "data/etl.yaml"
    etl.write_text(etl.read_text().replace("replicas: 8", "replicas: 18"))
    quota = repo / "data/namespace.yaml"
    quota.write_text(quota.read_text().replace('requests.cpu: "6"', 'requests.cpu: "60"'))
    lines = called("lint", ".", "-c", COMPANY / "cluster.json", "--format", "concise", cwd=repo).stdout.splitlines()
    assert len([line for line in lines if "set-does-not-fit" in line]) == 1, lines


def test_a_premise_is_told_once_in_a_finding_and_none_of_the_whole_set() -> None:
    text = called("lint", "-c", "../cluster.json", cwd=COMPANY / "repo").stdout
    premises = [[line for line in part.splitlines() if line.lstrip().startswith("= ")] for part in text.split("\n\n")]
    assert any("= assumes" in line for part in premises for line in part), "nothing is tried"
    assert [part for part in premises if len(part) != len(set(part))] == []
    assert "whether the manifest changes the template" not in text, "the verdict covers both cases"


# --- the first screen -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", [(), ("-c", "../cluster.json")])
def test_lint_of_a_company_fits_a_terminal_and_ends_in_three_lines(cluster: tuple[str, ...]) -> None:
    lines = lines_on_a_terminal("lint", *cluster, cwd=COMPANY / "repo")
    assert max(map(len, lines)) <= 80
    footer = "\n".join(lines).rstrip().split("\n\n")[-1].splitlines()
    assert [line.partition(" ")[0] for line in footer[1:]] == ["checked", "decide:"]


def test_audit_says_what_it_counted_and_no_workload_of_files(tmp_path: Path) -> None:
    done = called("audit", "-c", COMPANY / "cluster.json", "--no-config", cwd=tmp_path)
    assert re.match(r"\d+ warnings? in 28 pods; ", done.stdout)
    assert "checked 0 workloads" not in done.stdout


# --- defaults and hints -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("simulate", "--events", "deploy"), ("why", "search")])
def test_no_path_is_the_configured_target_else_the_current_folder(tmp_path: Path, command: tuple[str, ...]) -> None:
    search = (ROOT / "fixtures/company/repo/apps/shop/base/search.yaml").read_text()
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "search.yaml").write_text(search.replace("name: search", f"name: search-{folder}"))
    (tmp_path / "nodes.yaml").write_text(NODES.read_text())
    name = [] if command[0] == "simulate" else [f"{command[1]}-ours"]
    words = [command[0], *name, *(command[1:] if not name else ())]
    here, dot = (called(*words, *path, "-c", "nodes.yaml", cwd=tmp_path) for path in ((), (".",)))
    assert (here.stdout, here.returncode) == (dot.stdout, dot.returncode)
    assert "search-ours" in here.stdout
    (tmp_path / "kubesched.toml").write_text('[[targets]]\nname = "a"\npaths = ["ours"]\ncluster = "nodes.yaml"\n')
    target = called(*words, cwd=tmp_path)
    assert "search-ours" in target.stdout
    assert "search-theirs" not in target.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (("lint", "--format", "consise"), "no format is called 'consise', did you mean concise?"),
    (("lint", "--clustr", "x"), "No such option: --clustr (Possible options: --cluster"),
    (("simulate", "--lose", "zone=x", "-c", str(NODES)), "there is eu-west-1a, eu-west-1b, eu-west-1c"),
])  # fmt: skip
def test_a_slip_gets_a_guess(arguments: tuple[str, ...], said: str) -> None:
    done = called(*arguments, cwd=SHOP)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--explain", "search"),
        ("simulate", "--format", "html-fragment"),
        ("simulate", "--format", "json"),
        ("why", "search"),
        ("why", "wbe"),
    ],
)
def test_who_exits_with_2_says_why(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What could not be read was in no line of `--explain`, of the table for a page, and beside a wrong name."""
    search = ROOT / "fixtures/company/repo/apps/shop/base/search.yaml"
    (tmp_path / "search.yaml").write_text(search.read_text())
    (tmp_path / "bad.yaml").write_bytes(b'apiVersion: v1\nkind: Pod\nmetadata: {name: "\xff"}\n')
    command, *rest = words
    names = rest[:1] if command == "why" else []
    done = called(command, *names, ".", "-c", NODES, *rest[len(names) :], cwd=tmp_path)
    assert done.returncode == 2
    assert "not UTF-8: byte 0xff" in done.stdout + done.stderr
