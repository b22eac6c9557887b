"""0 and 1 are answers; whatever keeps a command from one is exit code 2 and a line that says why, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct, field

from kubesched_lint.engine.apiserver.values.quantities import parse
from kubesched_lint.engine.controllers.bounds import scaled
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.model.limits import LONGEST
from tests.program import called
from tests.share import every

ROOT = Path(__file__).parents[2]
MANY = "9" * 4301
"""One digit more than Python converts."""


def run(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NO_COLOR": "1", **environ}
    env.pop("KUBECONFIG", None)
    return called(*args, cwd=cwd, environ=env)


POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: a{meta}}}\nspec:\n  containers:\n  - {{name: a, image: b{rest}}}\n"
NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\n"
    "status:\n  allocatable: {{cpu: '{cpu}', memory: 1Gi, pods: '110'}}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("exits")
    deep = "[" * 100_000 + "]" * 100_000
    files = {
        "good.yaml": POD.format(meta="", rest=", resources: {requests: {cpu: 10m, memory: 1Mi}}"),
        "large.yaml": POD.format(meta="", rest=", resources: {requests: {cpu: '400', memory: 1Mi}}"),
        "digits.yaml": POD.format(meta="", rest=f", resources: {{requests: {{cpu: '{MANY}'}}}}"),
        "nodes.yaml": NODE.format(cpu=4),
        "digits-nodes.yaml": NODE.format(cpu=MANY),
        "deep.yaml": f"apiVersion: v1\nkind: Pod\nspec: {deep}\n",
        "deep.json": deep,
        "deep.toml": f"exclude = {deep}\n",
        "deep.jsonl": f"{deep}\n",
        "notes.jsonl": "1\n",
        "failing.jsonl": '{"kind": "nobody knows"}\n',
        "card.md": "no card\n",
        "not-yaml.yaml": "a: b: c\n",
        "bad.toml": "fail-on = 7\n",
    }
    for name, text in files.items():
        (there / name).write_text(text)
    (there / "clusters").mkdir()
    for name in ("a", "b"):
        (there / f"clusters/{name}.yaml").write_text(files["nodes.yaml"])
    (there / "rules").mkdir()
    (there / "rules/broken.md").write_text("---\nslug: [\n---\n")
    return there


class Row(Struct, frozen=True):
    command: str
    code: int
    says: str = ""
    """Part of what is said on one of the streams."""
    environ: dict[str, str] = field(default_factory=dict)


FAILURES = (
    Row("lint missing.yaml", 2, "no such file"),
    Row("lint good.yaml -c missing.yaml", 2, "missing.yaml"),
    Row("lint good.yaml -c deep.json", 2, "nested"),
    Row("lint good.yaml -c not-yaml.yaml", 2, "not-yaml.yaml"),
    Row("lint deep.yaml -c nodes.yaml", 2, "nested"),
    Row("lint deep.json -c nodes.yaml", 2, "nested"),
    Row("lint good.yaml --config missing.toml", 2, "missing.toml"),
    Row("lint good.yaml --config deep.toml", 2, "nested"),
    Row("lint good.yaml --config bad.toml", 2, "fail-on"),
    Row("lint good.yaml -c nodes.yaml --baseline deep.json", 2, "nested"),
    Row("lint good.yaml -c nodes.yaml --baseline missing.json", 2, "missing.json"),
    Row("lint good.yaml --select nobody-knows", 2, "nobody-knows"),
    Row("lint good.yaml --format nobody-knows", 2, "nobody-knows"),
    Row("lint good.yaml --format json=missing/r.json", 2, "missing/r.json"),
    Row("lint good.yaml --format json=/dev/full", 2, "/dev/full"),
    Row("lint good.yaml --set a=b", 2, "--set"),
    Row("lint good.yaml --rules missing", 2, "missing"),
    Row("lint good.yaml --rules rules", 2, "broken.md"),
    Row("lint good.yaml --changed=no-such-branch", 2, "--changed"),
    Row("lint good.yaml --no-such-option", 2, "No such option"),
    Row("lint good.yaml --diff --fix", 2, "--diff"),
    Row("nobody-knows", 2, "No such command"),
    Row("lint digits.yaml -c nodes.yaml", 2, "digits.yaml:6:"),
    Row("lint good.yaml -c digits-nodes.yaml", 2, "digits-nodes.yaml:5:"),
    Row("simulate digits.yaml -c nodes.yaml", 2, "digits.yaml:6"),
    Row("simulate good.yaml -c digits-nodes.yaml", 2, "digits-nodes.yaml:5:"),
    Row("simulate good.yaml", 2, "--cluster"),
    Row("simulate good.yaml -c missing.yaml", 2, "missing.yaml"),
    Row("simulate good.yaml -c nodes.yaml --events nobody-knows", 2, "nobody-knows"),
    Row(f"simulate good.yaml -c nodes.yaml --scale a={MANY}", 2, "--scale"),
    Row("simulate missing.yaml -c nodes.yaml", 2, "missing.yaml"),
    Row("why nobody -c nodes.yaml", 2, "nobody"),
    Row("why a good.yaml -c missing.yaml", 2, "missing.yaml"),
    Row("why a digits.yaml -c nodes.yaml", 2, "error: "),
    Row("fleet good.yaml --clusters missing", 2, "missing"),
    Row("fleet good.yaml --clusters rules", 2, "rules"),
    Row("fleet good.yaml --clusters clusters --executor nobody", 2, "--executor"),
    Row(f"fleet good.yaml --clusters clusters --executor processes:{MANY}x", 2, "--executor"),
    Row("fleet good.yaml --clusters clusters --executor processes:²", 2, "--executor"),
    Row("fleet good.yaml --clusters clusters --output missing/o.txt", 2, "missing/o.txt"),
    Row("fleet digits.yaml --clusters clusters", 2, "digits.yaml:6:"),
    Row("init missing.json", 2, "missing.json"),
    Row("init digits-nodes.yaml", 2, "digits-nodes.yaml:5:"),
    Row("init deep.json", 2, "nested"),
    Row("init nodes.yaml -o missing/s.yaml", 2, "missing/s.yaml"),
    Row("init nodes.yaml --force -o /dev/full", 2, "/dev/full"),
    Row("snapshot -o s.json", 2, "no cluster to connect to", {"HOME": "/nonexistent"}),
    Row("snapshot --context nobody -o s.json", 2, "error: ", {"HOME": "/nonexistent"}),
    Row("baseline write missing.yaml -o b.json", 2, "missing.yaml"),
    Row("baseline write good.yaml -o missing/b.json", 2, "missing/b.json"),
    Row("baseline prune good.yaml --baseline missing.json", 2, "missing.json"),
    Row("baseline prune good.yaml --baseline deep.json", 2, "nested"),
    Row("config show --config deep.toml", 2, "nested"),
    Row("config nobody", 2, "No such command"),
    Row("rules explain nobody-knows", 2, "nobody-knows"),
    Row("rules list --family nobody", 2, "nobody"),
    Row("rules list --rules rules", 2, "broken.md"),
    Row("rules test missing", 2, "missing"),
    Row("rules test rules", 2, "cannot be used"),
    Row("rules new UPPER", 2, "UPPER"),
    Row("rules new some-rule --dir /proc/nowhere", 2, "/proc/nowhere"),
    Row("verify missing.jsonl", 2, "missing.jsonl"),
    Row("verify notes.jsonl", 2, "notes.jsonl:1"),
    Row("verify deep.jsonl", 2, "nested"),
    Row("verify failing.jsonl", 2, "failing.jsonl:1"),
)
ANSWERS = (
    Row("lint good.yaml -c nodes.yaml --select resource-exceeds-any-node", 0),
    Row("lint large.yaml -c nodes.yaml --select resource-exceeds-any-node", 1, "error[resource-exceeds-any-node]"),
    Row("lint good.yaml --strict-skips", 1),
    Row("lint large.yaml -c nodes.yaml --fail-on never", 0),
    Row("simulate good.yaml -c nodes.yaml --events deploy", 0),
    Row("simulate large.yaml -c nodes.yaml --events deploy", 1),
    Row("why a good.yaml -c nodes.yaml", 0),
    Row("why a large.yaml -c nodes.yaml", 1),
    Row("fleet large.yaml --clusters clusters", 1),
    Row("fleet good.yaml --clusters clusters --fail-on never", 0),
    Row("init nodes.yaml", 0),
    Row("config show", 0),
    Row("config schema", 0),
    Row("rules list", 0),
    Row("rules explain resource-exceeds-any-node", 0),
    Row("--version", 0),
    Row("--help", 0),
)


@pytest.mark.parametrize("row", every(2, [*FAILURES, *ANSWERS]), ids=lambda row: row.command[:70])
def test_a_failure_is_2_and_an_answer_0_or_1(row: Row, folder: Path) -> None:
    done = run(*row.command.split(" "), cwd=folder, **row.environ)
    assert "Traceback" not in done.stderr + done.stdout
    assert "This is a bug" not in done.stderr
    assert (done.returncode, row.says in done.stdout + done.stderr) == (row.code, True), done.stdout + done.stderr


STUMBLE = """
import sys
from kubesched_lint.commands.lint import run
def stumble(*args, **kwargs):
    {what}
run.checked = stumble
sys.argv = ["kubesched-lint", "lint", "good.yaml"]
from kubesched_lint.cli import main
main()
"""
BEFALLING = {
    "raise ValueError('some\\nvalue \\x1b[31m ::error::x')": "This is a bug. Please report it",
    "raise AssertionError": "failed: AssertionError (<string>:",
    "raise RecursionError('deep')": "This is a bug",
    "raise KeyError('x' * 100_000)": "This is a bug",
    "raise MemoryError": "not enough memory",
    'raise RuntimeError("can\'t start new thread")': "not enough memory",
    "raise ImportError('x.so: failed to map segment from shared object')": "not enough memory",
    "raise OSError(24, 'Too many open files')": "error: Too many open files\n",
    "raise PermissionError(13, 'Permission denied', 'a\\nb')": "error: a b: Permission denied\n",
    "raise OSError(28, 'No space left on device')": "error: standard output: No space left on device\n",
    "raise EOFError": "error: ",
    "sys.exit('words')": "error: words\n",
    "raise ExceptionGroup('g', [ValueError('v')])": "This is a bug",
}


@pytest.mark.parametrize("what", BEFALLING)
def test_whatever_befalls_a_command_is_one_line_and_2(what: str, folder: Path) -> None:
    done = stumbling(what, folder)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert BEFALLING[what] in done.stderr
    assert len(done.stderr) < 1000
    assert "\x1b" not in done.stderr
    assert "::error" not in done.stderr


def stumbling(what: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", STUMBLE.format(what=what)],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_who_asks_gets_the_traceback(folder: Path) -> None:
    done = stumbling("raise ValueError('\\x1b[31m')", folder, KUBESCHED_LINT_TRACEBACK="1")
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert "in stumble" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("end", ["KeyboardInterrupt", "SystemExit(3)", "SystemExit", "SystemExit(0)"])
def test_who_leaves_by_himself_keeps_his_code(end: str, folder: Path) -> None:
    wanted = {"KeyboardInterrupt": 130, "SystemExit(3)": 3}.get(end, 0)
    done = stumbling(f"raise {end}", folder)
    assert (done.returncode, done.stderr) == (wanted, "")


def test_a_thread_that_fails_prints_no_traceback(folder: Path) -> None:
    thread = "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join(); sys.exit(0)"
    done = stumbling(thread, folder)
    assert (done.returncode, done.stderr) == (0, "")


DIGITS = {
    "annotation": POD.format(meta=f", annotations: {{controller.kubernetes.io/pod-deletion-cost: '{MANY}'}}", rest=""),
    "wave": POD.format(meta=f", annotations: {{argocd.argoproj.io/sync-wave: '{MANY}'}}", rest=""),
    "odd-wave": POD.format(meta=", annotations: {argocd.argoproj.io/sync-wave: '+-3'}", rest=""),
    "port": POD.format(meta="", rest=f", ports: [{{containerPort: {MANY}}}]"),
    "budget": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"
    f"spec: {{minAvailable: '{MANY}%', selector: {{}}}}\n",
    "odd-budget": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"
    "spec: {minAvailable: '²%', selector: {}}\n",
    "service": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
    f"spec: {{clusterIP: '1.2.3.{MANY}', loadBalancerSourceRanges: ['10.0.0.0/{MANY}'], ports: [{{port: 1}}]}}\n",
    "volume": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"
    f"spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: '{MANY}'}}}}}}\n",
    "limits": "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\n"
    f"spec: {{limits: [{{type: Container, max: {{cpu: '{MANY}'}}}}]}}\n",
    "quota": f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: a}}\nspec: {{hard: {{cpu: '{MANY}'}}}}\n",
    "size": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: b}]\n"
    f"  volumes: [{{name: v, emptyDir: {{sizeLimit: '0.{MANY}'}}}}]\n",
}


@pytest.mark.parametrize("name", DIGITS)
@pytest.mark.parametrize("command", ["lint", "simulate"])
def test_too_many_digits_anywhere_fail_no_rule(name: str, command: str, folder: Path) -> None:
    (folder / f"k-{name}.yaml").write_text(DIGITS[name])
    done = run(command, f"k-{name}.yaml", "-c", "nodes.yaml", cwd=folder)
    assert "Exceeds the limit" not in done.stdout + done.stderr
    assert "failed with" not in done.stdout + done.stderr
    assert "This is a bug" not in done.stderr


@pytest.mark.parametrize(
    ("text", "number"),
    [("²", None), ("+-3", None), ("", None), ("+7", 7), ("-7", -7), (MANY, None), ("0" * 5000 + "7", 7)],
)
def test_numbers_are_read_as_go_reads_them(text: str, number: int | None) -> None:
    assert go_int(text) == number
    share = scaled(f"{text}%", 100, up=True)
    assert share == (number if number is not None and text.isdigit() else 0)


def test_digits_that_validation_passes_over_change_no_comparison() -> None:
    long, longer = "9" * LONGEST, "1" * (LONGEST + 1)
    assert parse("8" * LONGEST).nanos < parse(long).nanos <= parse(longer).nanos
    assert parse("0." + "1" * LONGEST * 3).nanos == parse("0.1111111112").nanos
    assert parse("0." + "0" * LONGEST * 3 + "1").nanos == 1
    assert parse("0." + "0" * LONGEST * 3).nanos == 0
