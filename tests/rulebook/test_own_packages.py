"""Rules with Python come from installed packages: built, put on the path and run as pip would leave them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kubesched_lint.commands.workloads.new import card_of_name, write
from kubesched_lint.rulebook.entry_points import entry_names
from tests.share import first

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "rulebook-package"
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
PORTS = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: shop, labels: {{team: {name}}}}}
spec:
  containers:
  - name: app
    image: "registry.example.com/shop/app:1.0"
    ports: [{{containerPort: 80, hostPort: 8080}}]
---
"""
Install = Callable[[Path], Path]


def built(project: Path, folder: Path) -> Path:
    """Return the wheel of a project, made in a folder."""
    pytest.importorskip("setuptools", minversion="70.1")
    source = folder / "source"
    shutil.copytree(project, source)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the example, which several tests install."""
    return built(PACKAGE, tmp_path_factory.mktemp("shipped"))


@pytest.fixture
def install(tmp_path: Path, shipped: Path) -> Install:
    """Builds a project and unpacks its wheel as an installer does; gives the folder to be put on the path."""

    def unpacked(project: Path) -> Path:
        site = tmp_path / "site"
        with zipfile.ZipFile(shipped if project == PACKAGE else built(project, tmp_path)) as wheel:
            wheel.extractall(site)
        return site

    return unpacked


def run(*arguments: str | Path, site: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "kubesched_lint", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cwd)


def test_an_installed_package_brings_its_rules(install: Install, tmp_path: Path) -> None:
    site = install(PACKAGE)
    (tmp_path / "m.yaml").write_text(PORTS.format(name="web") + PORTS.format(name="pay"))
    done = run("lint", tmp_path / "m.yaml", "--no-config", site=site)
    assert done.returncode == 1, done.stderr
    assert "error[host-port-of-two-teams]: Pod shop/pay takes host port 8080/TCP, which belongs to Pod shop/web" in (
        done.stdout
    )
    assert "= policy: team web and pay" in done.stdout
    listed = run("rules", "list", "--family", "acme", site=site)
    assert "host-port-of-two-teams" in listed.stdout
    explained = run("rules", "explain", "host-port-of-two-teams", site=site)
    assert explained.stdout.startswith("# host-port-of-two-teams")


def test_its_cards_are_tested_like_any_other(install: Install) -> None:
    site = install(PACKAGE)
    done = run("rules", "test", site / "acme_rulebook" / "rules", site=site)
    assert (done.returncode, done.stdout) == (0, "1 card, 2 examples: all as marked\n")


@pytest.mark.parametrize(
    ("broken", "said"),
    first(
        2,
        [
            ("def check(facts, *, label):\n    raise KeyError('boom')\n    yield\n", "failed with KeyError: 'boom'"),
            ("import no_such_module\n", "failed with ModuleNotFoundError: No module named 'no_such_module'"),
            ("def check(facts, *, lable):\n    yield\n", "failed with TypeError: check() got an unexpected keyword"),
            ("CHECK = None\n", "failed with AttributeError"),
            ("def check(facts, *, label):\n    return 7\n", "failed with TypeError: 'int' object is not iterable"),
        ],
    ),
)
def test_a_rule_that_raises_is_one_error_and_the_others_run(
    broken: str, said: str, install: Install, tmp_path: Path
) -> None:
    site = install(PACKAGE)
    (site / "acme_rulebook" / "checks" / "host_port_of_two_teams.py").write_text(broken)
    (tmp_path / "m.yaml").write_text(
        PORTS.format(name="web").replace(
            "containers:", "nodeSelector: {a: b}\n  tolerations: [{operator: Exists}]\n  containers:"
        )
    )
    done = run("lint", tmp_path / "m.yaml", "--no-config", site=site)
    assert done.returncode == 2
    assert done.stdout.count("error: rule host-port-of-two-teams") == 1
    assert said in done.stdout
    assert "[toleration-blanket]" in done.stdout


FREE = """
from kubesched_lint import Remedy, Remove


def NAME(hazard, document, facts):
    yield Remedy("give the port back", safe=True, changes=(Remove(hazard.at),))
"""


@pytest.mark.parametrize("layout", ["beside the check", "in a folder of its own, as in 0.1"])
def test_a_rule_of_a_package_mends_what_it_finds(layout: str, install: Install, tmp_path: Path) -> None:
    site = install(PACKAGE)
    package = site / "acme_rulebook"
    card = package / "rules" / "host-port-of-two-teams.md"
    card.write_text(card.read_text().replace("each: set\n", "each: set\nfix: safe\n"))
    if layout == "beside the check":
        with (package / "checks" / "host_port_of_two_teams.py").open("a") as check:
            check.write(FREE.replace("NAME", "fix"))
    else:
        (package / "fixes").mkdir()
        (package / "fixes" / "__init__.py").touch()
        (package / "fixes" / "host_port_of_two_teams.py").write_text(FREE.replace("NAME", "fixes"))
    manifest = tmp_path / "m.yaml"
    manifest.write_text(PORTS.format(name="web") + PORTS.format(name="pay"))
    done = run(
        "lint", manifest, "--no-config", "--select", "host-port-of-two-teams", "--fix", "--unsafe-fixes", site=site
    )
    assert (done.returncode, done.stderr.count("fixed 1")) == (0, 1), done.stdout + done.stderr
    web, pay = manifest.read_text().split("---\n")[:2]
    assert ("hostPort: 8080" in web, "hostPort" in pay) == (True, False)


def test_a_fix_that_is_not_there_leaves_the_finding_and_says_so(install: Install, tmp_path: Path) -> None:
    site = install(PACKAGE)
    card = site / "acme_rulebook" / "rules" / "host-port-of-two-teams.md"
    card.write_text(card.read_text().replace("each: set\n", "each: set\nfix: safe\n"))
    (tmp_path / "m.yaml").write_text(PORTS.format(name="web") + PORTS.format(name="pay"))
    chosen = ("--no-config", "--select", "host-port-of-two-teams", "--fix", "--unsafe-fixes")
    done = run("lint", tmp_path / "m.yaml", *chosen, site=site)
    assert done.returncode == 1
    assert "the fix of host-port-of-two-teams failed with AttributeError" in done.stderr


def test_a_card_without_its_check_is_an_error(install: Install, tmp_path: Path) -> None:
    site = install(PACKAGE)
    (site / "acme_rulebook" / "checks" / "host_port_of_two_teams.py").unlink()
    (tmp_path / "m.yaml").write_text(PORTS.format(name="web"))
    done = run("lint", tmp_path / "m.yaml", "--no-config", site=site)
    assert done.returncode == 2
    assert "no check:" in done.stdout


def test_a_package_that_is_gone_is_no_package(tmp_path: Path) -> None:
    info = tmp_path / "gone-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[kubesched_lint.rulebooks]\ngone = gone_for_good\n")
    assert run("rules", "list", site=tmp_path).returncode == 0


def test_a_package_may_have_workload_cards(tmp_path: Path) -> None:
    info, package = tmp_path / "acme-1.0.dist-info", tmp_path / "acme"
    info.mkdir()
    (info / "entry_points.txt").write_text("[kubesched_lint.rulebooks]\nacme = acme\n")
    package.mkdir()
    (package / "__init__.py").touch()
    name, text = card_of_name("Widget.example.com")
    write(package / "workloads", name, text)
    pod = "{metadata: {labels: {app: w}}, spec: {containers: [{name: w, image: x}]}}"
    widget = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {{template: {pod}}}\n"
    (tmp_path / "m.yaml").write_text(widget)
    done = run("workloads", "explain", "Widget", tmp_path / "m.yaml", site=tmp_path)
    assert "is read as Deployment default/w" in done.stdout


def test_entry_points_are_read_as_importlib_reads_them(tmp_path: Path) -> None:
    from importlib.metadata import distributions

    for number, text in enumerate(
        (
            "[console_scripts]\nkubesched_lint.rulebooks = no:main\n",
            "[kubesched_lint.rulebooks]\na = first\n\n# a comment\nb=second.inner\n[other]\nc = no\n",
            "[kubesched_lint.rulebooks]\r\nd = third\r\n",
            "",
        )
    ):
        info = tmp_path / f"d{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: d{number}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_bytes(text.encode())
    (tmp_path / "no-1.0.dist-info").mkdir()
    group = "kubesched_lint.rulebooks"
    theirs = sorted(e.value for d in distributions(path=[str(tmp_path)]) for e in d.entry_points if e.group == group)
    assert (
        sorted(entry_names([str(tmp_path), "", str(tmp_path / "none")])) == theirs == ["first", "second.inner", "third"]
    )


def test_a_new_rule_with_an_expression_passes_its_examples(tmp_path: Path) -> None:
    done = run("rules", "new", "two-of-each", site=ROOT, cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "wrote ops/rules/two-of-each.md")
    done = run("rules", "test", "ops/rules", site=ROOT, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 card, 2 examples: all as marked\n")
    listed = run("rules", "list", "--rules", "ops/rules", "--family", "policy", site=ROOT, cwd=tmp_path)
    assert "two-of-each" in listed.stdout
    explained = run("rules", "explain", "two-of-each", "--rules", "ops/rules", site=ROOT, cwd=tmp_path)
    assert "- **Parameter** `least` (default `2`)" in explained.stdout


def test_a_new_rule_with_python_passes_its_examples(install: Install, tmp_path: Path) -> None:
    for slug in ("two-of-each", "three-of-each"):  # the second joins the package of the first
        done = run("rules", "new", slug, "--python", "--dir", "acme-rules", site=ROOT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    site = install(tmp_path / "acme-rules")
    done = run("rules", "test", site / "acme_rules" / "rules", site=site)
    assert (done.returncode, done.stdout) == (0, "2 cards, 4 examples: all as marked\n")


@pytest.mark.parametrize(
    ("slug", "said"),
    [
        ("Two_Of_Each", "`Two_Of_Each` is no name of a rule"),
        ("../escape", "`../escape` is no name of a rule"),
        ("single-zone-workload", "there is a shipped rule `single-zone-workload`"),
        ("there-already", "there-already.md is there already; nothing was written"),
    ],
)
def test_a_new_rule_overwrites_nothing(slug: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "ops" / "rules").mkdir(parents=True)
    (tmp_path / "ops" / "rules" / "there-already.md").write_text("mine")
    done = run("rules", "new", slug, site=ROOT, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert (tmp_path / "ops" / "rules" / "there-already.md").read_text() == "mine"
