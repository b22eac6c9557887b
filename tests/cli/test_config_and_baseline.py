"""A project with a configuration and a baseline, as a person and a pipeline use them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_lint.version import __version__
from tests.program import called

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with manifests, their cluster and nothing else."""
    shutil.copytree(ROOT / "fixtures" / "shop", tmp_path / "manifests")
    shutil.copy(ROOT / "fixtures" / "clusters" / "three-zones.yaml", tmp_path / "cluster.yaml")
    (tmp_path / ".git").mkdir()
    return tmp_path


def run(where: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=where, stdin=stdin, environ={"PATH": "/usr/bin:/bin", "HOME": str(where)})


def findings(where: Path, *args: str) -> dict[str, str]:
    """Rule → severity of what counts."""
    done = run(where, "lint", *args, "--format", "json")
    assert done.stdout, done.stderr
    return {f["rule"]: f["severity"] for f in json.loads(done.stdout)["findings"] if not f["suppressed"]}


ERRORS = {"anti-affinity-exceeds-domains": "error", "resource-exceeds-any-node": "error"}


def test_a_configuration_is_found_from_wherever_one_lints(shop: Path) -> None:
    (shop / "kubesched.toml").write_text('cluster = "cluster.yaml"\nselect = ["anti-affinity-exceeds-domains"]\n')
    expected = {"anti-affinity-exceeds-domains": "error"}
    assert findings(shop, "manifests") == expected
    assert findings(shop / "manifests", ".") == expected
    assert findings(shop / "manifests", "cache.yaml") == expected
    assert findings(shop.parent, str(shop / "manifests")) == expected
    assert findings(shop, "manifests", "--no-config").keys().isdisjoint(expected)


def test_flags_beat_the_configuration_which_beats_the_defaults(shop: Path) -> None:
    (shop / "kubesched.toml").write_text('cluster = "cluster.yaml"\nfail-on = "never"\nignore = ["spread"]\n')
    assert run(shop, "lint", "manifests").returncode == 0
    assert run(shop, "lint", "manifests", "--fail-on", "error").returncode == 1
    shown = json.loads(run(shop, "config", "show", "manifests", "--fail-on", "note", "-f", "json").stdout)
    values = shown["values"]
    assert values["fail-on"] == {"value": "note", "from": "--fail-on"}
    assert values["cluster"] == {"value": "cluster.yaml", "from": "kubesched.toml:1"}
    assert values["ignore"] == {"value": ["spread"], "from": "kubesched.toml:3"}
    assert values["namespace"] == {"value": "default", "from": "default"}
    assert shown["file"] == "kubesched.toml"


def test_severities_parameters_and_overrides_reach_the_findings(shop: Path) -> None:
    (shop / "kubesched.toml").write_text(
        'cluster = "cluster.yaml"\n'
        "[rules.anti-affinity-exceeds-domains]\nseverity = 'note'\n"
        "[[overrides]]\npaths = ['manifests/report-job.yaml']\nignore = ['resources']\n"
        "[[overrides]]\npaths = ['web.yaml']\nseverities = {spread-rollout-skew = 'note'}\n"
    )
    assert findings(shop, "manifests") == {
        "affinity-selector-matches-nothing": "warning",
        "anti-affinity-exceeds-domains": "note",
        "spread-rollout-skew": "note",
    }
    # With a domain in reserve, three replicas in three zones are one too many.
    cache = shop / "manifests" / "cache.yaml"
    cache.write_text(cache.read_text().replace("replicas: 6", "replicas: 3"))
    assert "anti-affinity-exceeds-domains" not in findings(shop, "manifests")
    kept = findings(shop, "manifests", "--set", "anti-affinity-exceeds-domains.reserve=1")
    assert kept["anti-affinity-exceeds-domains"] == "note"


def test_what_is_excluded_is_read_only_when_it_is_named(shop: Path) -> None:
    (shop / "kubesched.toml").write_text('cluster = "cluster.yaml"\nexclude = ["manifests/report-*"]\n')
    assert "resource-exceeds-any-node" not in findings(shop, "manifests")
    assert "resource-exceeds-any-node" in findings(shop, "manifests/report-job.yaml")
    assert findings(shop, "manifests", "--exclude", "*").keys() == set()


def test_other_commands_take_the_cluster_from_the_configuration(shop: Path) -> None:
    assert "Missing option '--cluster'" in run(shop, "simulate", "manifests").stderr
    assert "Missing option '--cluster'" in run(shop, "why", "web", "manifests").stderr
    (shop / "kubesched.toml").write_text('cluster = "cluster.yaml"\nprofile = "strict"\n')
    assert "shop/web" in run(shop, "simulate", "manifests", "--events", "deploy").stdout
    assert "of 6 nodes" in run(shop, "why", "web", "manifests").stdout


@pytest.mark.parametrize("command", [["lint"], ["simulate"], ["why", "web"], ["config", "show"], ["baseline", "write"]])
def test_a_broken_configuration_ends_every_command_that_reads_it(shop: Path, command: list[str]) -> None:
    (shop / "kubesched.toml").write_text('\nclutser = "cluster.yaml"\nprofile = 1\n')
    done = run(shop, *command, "manifests")
    assert done.returncode == 2
    assert "error: kubesched.toml:2:1: unknown key `clutser`; did you mean `cluster`?" in done.stderr
    assert "error: kubesched.toml:3:11: profile: expected a string, found 1" in done.stderr
    assert not done.stdout


def test_bad_settings_on_the_command_line_are_usage_errors(shop: Path) -> None:
    for given, why in {
        "deploy-leaves-pending.most_pod=1": "did you mean `most_pods`?",
        "deploy-leaves-pendin.most_pods=1": "did you mean `deploy-leaves-pending`?",
        "deploy-leaves-pending.most_pods=few": "expected a whole number",
        "most_pods=1": "expected RULE.PARAM=VALUE",
    }.items():
        done = run(shop, "lint", "manifests", "--set", given)
        assert done.returncode == 2
        assert why in done.stderr


def test_no_toml_is_parsed_where_no_configuration_lies(shop: Path) -> None:
    (shop / "pyproject.toml").write_text('[project]\ndependencies = ["kubesched-lint"]\n')
    code = (
        "import sys; sys.argv[1:] = ['lint', 'manifests/db.yaml']\n"
        "from kubesched_lint.cli.app import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print(sorted({'tomllib', 'kubesched_lint.project.config.reading'} & sys.modules.keys()))"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], cwd=shop, capture_output=True, text=True, env=environment)
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


# --- baseline -------------------------------------------------------------------------------------------------------


def test_known_findings_do_not_fail_and_new_ones_do(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml")
    done = run(shop, "baseline", "write", *paths, "-o", "known.json")
    assert (done.returncode, done.stderr) == (
        0,
        "known.json: 4 known findings\nlint uses it with --baseline known.json, or with `baseline` in kubesched.toml\n",
    )
    assert run(shop, "lint", *paths).returncode == 1
    known = run(shop, "lint", *paths, "--baseline", "known.json")
    assert known.returncode == 0
    assert "no findings (4 known)" in known.stdout
    assert "anti-affinity-exceeds-domains" not in known.stdout, "folded to a count"
    verbose = run(shop, "lint", *paths, "--baseline", "known.json", "--verbose").stdout
    assert "manifests/cache.yaml:18:15: error[anti-affinity-exceeds-domains]" in verbose
    (shop / "manifests" / "new.yaml").write_text(
        (shop / "manifests" / "cache.yaml").read_text().replace("name: cache", "name: cache-2")
    )
    assert run(shop, "lint", *paths, "--baseline", "known.json").returncode == 1


def test_known_findings_stay_known_when_text_moves(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml")
    run(shop, "baseline", "write", *paths, "-o", "known.json")
    texts = {file.name: file.read_text() for file in (shop / "manifests").iterdir()}
    for name in texts:
        (shop / "manifests" / name).unlink()
    moved = "\n---\n".join(f"# a comment\n\n{texts[name]}" for name in sorted(texts, reverse=True))
    (shop / "manifests" / "all-in-one.yaml").write_text(moved)
    done = run(shop, "lint", *paths, "--baseline", "known.json", "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert len(report["findings"]) == 4
    assert all(f["suppressed"] == {"reason": "known in known.json", "known": True} for f in report["findings"])


def test_what_is_mended_is_told_and_pruned(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml")
    run(shop, "baseline", "write", *paths, "-o", "known.json")
    cache = shop / "manifests" / "cache.yaml"
    cache.write_text(cache.read_text().replace("replicas: 6", "replicas: 3"))
    summary = "known.json: 1 entry no longer occurs (anti-affinity-exceeds-domains)"
    assert summary in run(shop, "lint", *paths, "--baseline", "known.json", "-v").stdout
    # Nobody can say so who did not look: without the cluster, at another file, or with the rule left out.
    for other in (
        ("manifests",),
        ("manifests/db.yaml", "-c", "cluster.yaml"),
        (*paths, "--ignore", "anti-affinity-exceeds-domains"),
    ):
        assert "no longer" not in run(shop, "lint", *other, "--baseline", "known.json").stdout
    before = (shop / "known.json").read_text()
    done = run(shop, "baseline", "prune", *paths, "--baseline", "known.json")
    assert done.stderr == "known.json: 3 known findings; 1 gone\n"
    after = (shop / "known.json").read_text()
    assert set(after.splitlines()) < set(before.splitlines())
    assert not list(shop.glob("known.json.*")), "written in one step"


def test_an_update_explains_each_change_and_keeps_what_was_not_looked_at(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml", "--baseline", "known.json")
    missing = run(shop, "baseline", "update", *paths)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no such file" in missing.stderr
    run(shop, "baseline", "write", *paths[:3], "-o", "known.json")
    before = (shop / "known.json").read_text()
    same = run(shop, "baseline", "update", *paths)
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "known.json: 4 known findings; nothing changed\n")

    cache = shop / "manifests" / "cache.yaml"
    cache.write_text(cache.read_text().replace("replicas: 6", "replicas: 3"))
    (shop / "known.json").write_text(before.replace('"error"', '"note"', 2).replace('"warning"', '"error"', 1))
    ignored = json.loads((shop / "known.json").read_text())["findings"][-1]
    done = run(shop, "baseline", "update", *paths, "--ignore", ignored["rule"])
    assert done.returncode == 0
    signs = {line.split("  ")[1]: line[0] for line in done.stdout.splitlines()}
    assert signs["anti-affinity-exceeds-domains"] == "-"
    assert ignored["rule"] not in signs
    assert f'"{ignored["rule"]}"' in (shop / "known.json").read_text()
    (new,) = (line for line in done.stdout.splitlines() if line.startswith("+"))
    assert new.endswith("(the rule had no entry)"), "three replicas, one in each zone, leave none for a rollout"
    assert done.stderr == "known.json: 4 known findings; 1 new, 1 gone, 2 of another severity\n"
    assert findings(shop, *paths) == {}, "all that is found is known"


def test_waivers_and_the_baseline_do_not_get_in_each_others_way(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml")
    run(shop, "baseline", "write", *paths, "-o", "known.json")
    cache = shop / "manifests" / "cache.yaml"
    text = cache.read_text()
    term = "            - labelSelector"
    waiver = "            # kubesched: ignore[anti-affinity-exceeds-domains] we know"
    assert term in text
    cache.write_text(text.replace(term, f"{waiver}\n{term}", 1))
    done = run(shop, "lint", *paths, "--baseline", "known.json", "-v")
    assert done.returncode == 0
    assert "no findings (1 suppressed, 3 known)" in done.stdout
    assert "known.json: 1 entry no longer occurs" in done.stdout
    assert "3 known findings; 0 new, 1 gone" in run(shop, "baseline", "write", *paths, "-o", "known.json").stderr


def test_a_configuration_may_name_the_baseline(shop: Path) -> None:
    (shop / "kubesched.toml").write_text('cluster = "cluster.yaml"\nbaseline = "known.json"\n')
    assert "known.json: no such file" in run(shop, "lint", "manifests").stderr
    assert run(shop, "baseline", "write", "manifests").stderr == "known.json: 4 known findings\n"
    assert run(shop, "lint", "manifests").returncode == 0
    assert run(shop / "manifests", "lint", ".").returncode == 0


@pytest.mark.parametrize("named", ["by the flag", "by the configuration"])
def test_findings_of_own_rules_can_be_known_as_well(shop: Path, named: str) -> None:
    shutil.copytree(ROOT / "examples" / "rules", shop / "rules")
    (shop / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: lone}\nspec: {containers: [{name: main, image: i:1}]}\n"
    )
    flags = ["--rules", "rules"] if named == "by the flag" else []
    (shop / "kubesched.toml").write_text("" if flags else 'rule-folders = ["rules"]\n')
    asked = ["pod.yaml", *flags, "--select", "no-bare-pods"]
    before = run(shop, "lint", *asked, "--fail-on", "note")
    assert "[no-bare-pods]" in before.stdout, before.stdout + before.stderr
    assert before.returncode == 1
    written = run(shop, "baseline", "write", *asked, "-o", "known.json")
    assert written.stderr.startswith("known.json: 1 known finding\n")
    assert run(shop, "lint", *asked, "--fail-on", "note", "--baseline", "known.json").returncode == 0
    (shop / "pod.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    kept = run(shop, "baseline", "prune", *asked, "--baseline", "known.json")
    assert kept.stderr == "known.json: 1 known finding; 0 gone\n"


def test_nothing_is_written_over_what_is_no_baseline_or_for_half_a_set(shop: Path) -> None:
    web = shop / "manifests" / "web.yaml"
    before = web.read_text()
    done = run(shop, "baseline", "write", "manifests", "-o", "manifests/web.yaml")
    assert (done.returncode, web.read_text()) == (2, before)
    assert "the file is not changed" in done.stderr
    web.write_text("kind: Pod\napiVersion: v1\nspec: [\n")
    done = run(shop, "baseline", "write", "manifests", "-o", "known.json")
    assert done.returncode == 2
    assert "nothing was written" in done.stderr
    assert not (shop / "known.json").exists()


def test_sarif_says_of_a_known_finding_that_it_is_accepted(shop: Path) -> None:
    paths = ("manifests", "-c", "cluster.yaml")
    run(shop, "baseline", "write", *paths, "-o", "known.json")
    log = json.loads(run(shop, "lint", *paths, "--baseline", "known.json", "--format", "sarif").stdout)
    (accepted,) = {json.dumps(result["suppressions"]) for result in log["runs"][0]["results"]}
    assert json.loads(accepted) == [{"kind": "external", "status": "accepted", "justification": "known in known.json"}]


def test_a_waiver_of_what_an_override_leaves_out_is_not_called_unused(shop: Path) -> None:
    cache = shop / "manifests" / "cache.yaml"
    term = "            - labelSelector"
    waiver = "            # kubesched: ignore[anti-affinity-exceeds-domains] three zones will do"
    cache.write_text(cache.read_text().replace(term, f"{waiver}\n{term}", 1))
    assert "waiver-unused" not in findings(shop, "manifests", "-c", "cluster.yaml")
    override = "[[overrides]]\npaths = ['cache.yaml']\nignore = ['anti-affinity-exceeds-domains']\n"
    (shop / "kubesched.toml").write_text(override)
    assert "waiver-unused" not in findings(shop, "manifests", "-c", "cluster.yaml")


def test_a_fleet_is_held_against_one_baseline(shop: Path) -> None:
    (shop / "clusters").mkdir()
    for name in ("eu", "us"):
        shutil.copy(shop / "cluster.yaml", shop / "clusters" / f"{name}.yaml")
    run(shop, "baseline", "write", "manifests", "-c", "cluster.yaml", "-o", "known.json")
    fleet = ("fleet", "manifests", "--clusters", "clusters", "--executor", "serial")
    assert run(shop, *fleet).returncode == 1
    done = run(shop, *fleet, "--baseline", "known.json")
    assert done.returncode == 0
    assert done.stdout.count("no findings (4 known)") == 3  # of each cluster, and of all


def test_show_tells_overrides_and_parameters_with_their_lines(shop: Path) -> None:
    (shop / "kubesched.toml").write_text(
        "[rules.deploy-leaves-pending]\nmost_pods = 7\n"
        "[[overrides]]\npaths = ['a/**']\nseverities = {spread-rollout-skew = 'note'}\n"
    )
    rows = [line.split("  ") for line in run(shop, "config", "show").stdout.splitlines()]
    rows_of = {row[0]: [cell.strip() for cell in row[1:] if cell] for row in rows}
    assert rows_of["rules.deploy-leaves-pending.most_pods"] == ["7", "kubesched.toml:2"]
    assert rows_of["overrides[0].paths"] == ['["a/**"]', "kubesched.toml:3"]
    assert rows_of["overrides[0].severities"] == ['spread-rollout-skew = "note"', "kubesched.toml:3"]


STUCK = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: big, namespace: shop}
spec:
  replicas: 6
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec:
      containers:
      - {name: big, image: "registry.example.com/big:1", resources: {requests: {cpu: 2200m}}}
"""


def test_an_update_says_which_new_findings_come_from_rules_of_this_version(tmp_path: Path) -> None:
    shutil.copy(ROOT / "fixtures" / "clusters" / "three-zones.yaml", tmp_path / "cluster.yaml")
    paths = ("m.yaml", "--cluster", "cluster.yaml", "--no-config")
    (tmp_path / "m.yaml").write_text(STUCK)
    run(tmp_path, "baseline", "write", *paths, "--ignore", "rollout-never-ends")
    done = run(tmp_path, "baseline", "update", *paths)
    assert "+ error  rollout-never-ends  Deployment shop/big" in done.stdout
    assert f"(rule of {__version__})" in done.stdout
    assert f"1 new (1 by rules of {__version__}), 0 gone" in done.stderr
