"""``lint --diff`` and ``lint --fix`` as a person runs them: what is written, what never is, and what is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_lint.commands.fix.workspace import OpenFile, WriteError, write
from tests.program import called

ROOT = Path(__file__).parents[2]
ZONES = ROOT / "fixtures/clusters/three-zones.yaml"

WEB = """\
# Owned by the shop team.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web   # the shop itself
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: "topology.kubernetes.io/zone"
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app: web}   # all of them

      # What runs.
      containers:
        - name: web
          image: 'registry.example.com/shop/web:1.0'
"""
WEB_FIXED = WEB.replace("# all of them\n", "# all of them\n          matchLabelKeys: [pod-template-hash]\n")
CACHE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: cache}}
            topologyKey: topology.kubernetes.io/zone
      containers:
      - {name: cache, image: "redis:7.4"}
"""
CACHE_FIXED = CACHE.replace(
    "app: cache}}\n  template",
    "app: cache}}\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n  template",
)
PENDING = CACHE.replace("replicas: 3", "replicas: 6")


def run(*args: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return called("lint", "--no-config", *args, cwd=cwd, stdin=stdin)


def test_the_first_two_edits_are_those_that_a_careful_person_would_make(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "cache.yaml").write_text(CACHE)
    done = run(".", "-c", str(ZONES), "--fix", cwd=tmp_path)
    assert (tmp_path / "web.yaml").read_text() == WEB_FIXED
    assert (tmp_path / "cache.yaml").read_text() == CACHE_FIXED
    assert done.stderr == "fixed 2 of 2 findings in 2 files\n"
    assert done.stdout.startswith("no findings\n")
    assert done.returncode == 0


def test_an_object_that_cannot_be_read_stops_no_fix(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "budget.yaml").write_text(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {selector: [x]}\n"
    )
    done = run(".", "--fix", cwd=tmp_path)
    assert (tmp_path / "web.yaml").read_text() == WEB_FIXED
    assert "fixed 1 of 1 finding in 1 file\n" in done.stderr
    assert "expected a mapping, found a list" in done.stdout


def test_a_diff_changes_nothing_exits_with_1_and_can_be_applied(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(WEB)
    before = file.stat()
    done = run("web.yaml", "--diff", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "would fix 1 of 1 finding in 1 file\n"
    assert file.read_text() == WEB
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert done.stdout.startswith("--- web.yaml\n+++ web.yaml\n@@ ")
    patch = shutil.which("patch")
    if patch:
        subprocess.run([patch, "-p0", "-s"], input=done.stdout, cwd=tmp_path, text=True, check=True)
        assert file.read_text() == WEB_FIXED
    clean = run("web.yaml", "--diff", cwd=tmp_path)
    assert (clean.returncode, clean.stdout) == (0, "")
    assert clean.stderr == "no findings: nothing to fix\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not on PATH")
def test_a_diff_of_a_file_without_a_last_line_end_can_be_applied(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    before, after = (text.replace("\n      # What runs.\n", "").removesuffix("\n") for text in (WEB, WEB_FIXED))
    file.write_text(before)
    done = run("web.yaml", "--diff", cwd=tmp_path)
    assert "\\ No newline at end of file\n" in done.stdout
    subprocess.run(["patch", "-p0", "-s"], input=done.stdout, cwd=tmp_path, text=True, check=True)
    assert file.read_text() == after


def test_what_is_unsafe_waits_for_its_flag_and_what_is_left_is_reported(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "pending.yaml").write_text(PENDING)
    safe = run(".", "-c", str(ZONES), "--fix", cwd=tmp_path)
    assert safe.stderr == "fixed 1 of 2 findings in 1 file (1 more with --unsafe-fixes)\n"
    assert "error[anti-affinity-exceeds-domains]" in safe.stdout
    assert safe.returncode == 1
    assert (tmp_path / "pending.yaml").read_text() == PENDING
    unsafe = run(".", "-c", str(ZONES), "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert unsafe.stderr == "fixed 1 of 1 finding in 1 file\n"
    assert "podAntiAffinity" not in (tmp_path / "pending.yaml").read_text()
    assert unsafe.returncode == 0


def test_permissions_and_line_ends_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file = tmp_path / "real" / "web.yaml"
    data = b"\xef\xbb\xbf" + WEB.replace("\n", "\r\n").encode()
    file.write_bytes(data)
    file.chmod(0o640)
    run("real/web.yaml", "--fix", cwd=tmp_path)
    assert file.read_bytes() == b"\xef\xbb\xbf" + WEB_FIXED.replace("\n", "\r\n").encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path / "real") == ["web.yaml"], "nothing is left behind"


def test_a_file_that_has_changed_since_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text("somebody was faster\n")
    open_file = OpenFile(str(file), WEB.encode(), WEB_FIXED.encode(), (), in_kustomization=False, unrendered=False)
    with pytest.raises(WriteError, match=r"web\.yaml has changed since it was read, and was not written"):
        write(open_file)
    assert file.read_text() == "somebody was faster\n"
    assert os.listdir(tmp_path) == ["web.yaml"]


def test_a_file_that_is_gone_is_told_in_one_line(tmp_path: Path) -> None:
    open_file = OpenFile(str(tmp_path / "x.yaml"), b"a", b"b", (), in_kustomization=False, unrendered=False)
    with pytest.raises(WriteError, match=r"x\.yaml cannot be written: no such file"):
        write(open_file)
    assert os.listdir(tmp_path) == []


def test_standard_input_can_be_shown_and_never_written(tmp_path: Path) -> None:
    shown = run("-", "--diff", cwd=tmp_path, stdin=WEB)
    assert shown.stdout.startswith("--- -\n+++ -\n")
    assert "+          matchLabelKeys: [pod-template-hash]\n" in shown.stdout
    refused = run("-", "--fix", cwd=tmp_path, stdin=WEB)
    assert refused.returncode == 2
    assert "standard input cannot be written" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("flags", [("--diff", "--fix"), ("--unsafe-fixes",)])
def test_flags_that_do_not_go_together_are_an_error_of_usage(flags: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    assert run("web.yaml", *flags, cwd=tmp_path).returncode == 2
    assert (tmp_path / "web.yaml").read_text() == WEB


def test_reports_in_files_carry_the_fixes_that_a_diff_shows(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    run("web.yaml", "--diff", "--format", "json=out.json", "--format", "sarif=out.sarif", cwd=tmp_path)
    (finding,) = json.loads((tmp_path / "out.json").read_text())["findings"]
    (fix,) = finding["fixes"]
    assert fix["safe"]
    (edit,) = fix["edits"]
    lines = WEB.split("\n")
    at = edit["location"]
    head = "\n".join(lines[: at["line"] - 1]) + "\n" + lines[at["line"] - 1][: at["column"] - 1]
    tail = lines[at["endLine"] - 1][at["endColumn"] - 1 :] + "\n" + "\n".join(lines[at["endLine"] :])
    assert head + edit["text"] + tail == WEB_FIXED
    (result,) = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == edit["text"]


def test_what_an_anchor_shares_is_left_and_told(tmp_path: Path) -> None:
    text = WEB.replace("        - maxSkew: 1\n", "        - &even\n          maxSkew: 1\n") + WEB.replace(
        "# Owned by the shop team.\n", "---\n"
    ).replace("name: web   #", "name: other   #")
    first, second = text.split("---\n")
    second = second.replace("{app: web}", "{app: other}")
    shared = first.replace("      # What runs.", "        - <<: *even\n          topologyKey: kubernetes.io/hostname\n")
    (tmp_path / "web.yaml").write_text(f"{shared}---\n{second}")
    done = run("web.yaml", "--fix", cwd=tmp_path)
    assert "web.yaml:16: spread-rollout-skew is not fixed: it is used in several places (&even)\n" in done.stderr
    changed = (tmp_path / "web.yaml").read_text()
    assert changed.startswith(shared.split("        - <<: *even")[0]), "what the anchor names is as it was"
    assert changed.count("matchLabelKeys") >= 1


def test_items_of_a_list_and_json_are_mended_in_place(tmp_path: Path) -> None:
    item = json.loads(subprocess.run(
        [sys.executable, "-c", "import sys, yaml, json; print(json.dumps(yaml.safe_load(sys.stdin)))"],
        input=WEB, capture_output=True, text=True, check=True,
    ).stdout)  # fmt: skip
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}, indent=4)
    (tmp_path / "list.json").write_text(text)
    done = run("list.json", "--fix", cwd=tmp_path)
    assert done.stderr == "fixed 1 of 1 finding in 1 file\n"
    changed = (tmp_path / "list.json").read_text()
    item["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["matchLabelKeys"] = ["pod-template-hash"]
    assert json.loads(changed) == {"apiVersion": "v1", "kind": "List", "items": [item]}
    added = [line for line in changed.split("\n") if line not in text.split("\n")]
    assert len(added) == 4, "the three new lines, and a comma before them"


def test_a_waiver_keeps_its_line_from_being_mended(tmp_path: Path) -> None:
    waived = WEB.replace("- maxSkew: 1", "- maxSkew: 1  # kubesched: ignore[spread-rollout-skew] balanced by hand")
    (tmp_path / "web.yaml").write_text(waived)
    assert run("web.yaml", "--fix", cwd=tmp_path).stderr == "no findings: nothing to fix\n"
    assert (tmp_path / "web.yaml").read_text() == waived


def test_a_report_says_that_there_are_fixes(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    assert "1 note in 1 file; --diff proposes fixes\n" in run("web.yaml", cwd=tmp_path).stdout


@pytest.mark.parametrize("text", [WEB_FIXED, WEB])
def test_fixing_stays_out_of_the_way_of_an_ordinary_run(tmp_path: Path, text: str) -> None:
    """Nothing of it is loaded, with or without findings."""
    (tmp_path / "web.yaml").write_text(text)
    code = (
        "import sys\nfrom kubesched_lint.cli.app import app\n"
        "try:\n    app(['lint', '--no-config', 'web.yaml'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in sys.modules if 'fix' in m or 'edit' in m or 'ruamel' in m or 'workspace' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    loaded = [
        name for name in done.stdout.splitlines()[-1].strip("[]").split(", ") if "kubesched" in name or "ruamel" in name
    ]
    assert loaded == []


HELM = f"---\n# Source: shop/templates/web.yaml\n{WEB}"


def test_what_a_tool_rendered_has_no_file_to_mend(tmp_path: Path) -> None:
    done = run("-", "--diff", cwd=tmp_path, stdin=HELM)
    assert done.stdout == ""
    assert "is not fixed: a tool rendered it" in done.stderr
    assert "would fix none of 1 finding" in done.stderr


def test_findings_with_one_cause_are_mended_once(tmp_path: Path) -> None:
    """A toleration that is nearly right is corrected; none is added beside it for the taint that it was meant for."""
    (tmp_path / "cluster.yaml").write_text(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n"
        "- {name: gpu, count: 2, zones: [a], labels: {pool: gpu}, taints: [dedicated=gpu:NoSchedule]}\n"
        "- {name: worker, count: 2, zones: [a]}\n"
    )
    spec = "nodeSelector: {pool: gpu}\n      tolerations:\n      - {key: dedicated, value: gpus, effect: NoSchedule}\n"
    text = CACHE[: CACHE.index("      affinity:")] + f"      {spec}" + CACHE[CACHE.index("      containers:") :]
    (tmp_path / "cache.yaml").write_text(text)
    done = run("cache.yaml", "-c", "cluster.yaml", "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert done.stderr == "fixed 1 of 1 finding in 1 file\n"
    assert (tmp_path / "cache.yaml").read_text() == text.replace("gpus", "gpu")


def test_what_would_bring_another_finding_is_not_done(tmp_path: Path) -> None:
    """Anti-affinity over a mistyped key keeps nothing apart; mended, it would leave replicas over."""
    text = PENDING.replace("topology.kubernetes.io/zone", "topology.kubernetes.io/zones")
    (tmp_path / "cache.yaml").write_text(text)
    done = run("cache.yaml", "-c", str(ZONES), "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert done.stderr.startswith("fixed none of ")
    assert (tmp_path / "cache.yaml").read_text() == text


def test_to_fix_again_changes_nothing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures/shop", tmp_path / "shop")
    flags = ("-c", str(ZONES), "--fix", "--unsafe-fixes")
    run("shop", *flags, cwd=tmp_path)
    before = {file.name: file.read_bytes() for file in (tmp_path / "shop").iterdir()}
    assert run("shop", *flags, cwd=tmp_path).stderr.startswith("fixed none of 2 findings")
    assert {file.name: file.read_bytes() for file in (tmp_path / "shop").iterdir()} == before


def unprivileged() -> list[str]:
    """As root would be held to permissions, too; empty where nobody has to be."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root writes everywhere")
    return [setpriv, "--inh-caps=-all", "--bounding-set=-all"]


@pytest.mark.parametrize(
    ("locked", "mode", "why"), [("web.yaml", 0o444, "it is read-only"), (".", 0o555, "permission denied")]
)
def test_what_may_not_be_written_is_left_and_told_in_one_line(locked: str, mode: int, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "web.yaml").write_text(WEB)
    (tmp_path / "cache.yaml").write_text(CACHE)
    (folder / locked).chmod(mode)
    try:
        words = f"lint --no-config -c {ZONES} --fix locked/web.yaml cache.yaml".split()
        done = subprocess.run(
            [*unprivileged(), sys.executable, "-m", "kubesched_lint", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    finally:
        (folder / locked).chmod(0o755)
    assert done.stderr == f"error: locked/web.yaml cannot be written: {why}\n1 of 2 files written\n"
    assert done.returncode == 2
    assert (folder / "web.yaml").read_text() == WEB
    assert (tmp_path / "cache.yaml").read_text() == CACHE_FIXED
    assert os.listdir(folder) == ["web.yaml"]


@pytest.mark.parametrize("name", ["two words.yaml", "tab\there.yaml", 'say "x".yaml', "new\nline.yaml", "é.yaml"])
def test_a_diff_of_an_odd_name_can_be_applied(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(WEB)
    done = run(name, "--diff", cwd=tmp_path)
    assert len(done.stdout.partition("@@")[0].splitlines()) == 2, "the name stands in one line"
    for tool in (["patch", "-p0", "-s"], ["git", "apply", "-p0"]):
        if shutil.which(tool[0]):
            (tmp_path / name).write_text(WEB)
            subprocess.run(tool, input=done.stdout, cwd=tmp_path, text=True, check=True)
            assert (tmp_path / name).read_text() == WEB_FIXED


def test_two_paths_of_one_file_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "link.yaml").symlink_to("web.yaml")
    done = run("web.yaml", "./web.yaml", "link.yaml", str(tmp_path / "web.yaml"), "--fix", cwd=tmp_path)
    assert done.stderr == "fixed 1 of 1 finding in 1 file\n"
    assert (tmp_path / "web.yaml").read_text() == WEB_FIXED


def test_a_list_too_long_to_edit_is_told_in_one_line(tmp_path: Path) -> None:
    item = "- " + "".join(f"  {line}\n" for line in WEB.splitlines()[1:])[2:]
    items = "".join(item.replace("name: web   #", f"name: web-{n}   #") for n in range(5))
    (tmp_path / "list.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}" + "# so long\n" * 200_000)
    done = run("list.yaml", "--fix", cwd=tmp_path)
    assert done.stderr == (
        "note: list.yaml: 5 findings are not fixed: the document is longer than 2,000,000 characters\n"
        "fixed none of 5 findings\n"
    )
