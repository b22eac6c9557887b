"""What a repository of strangers may put where a file is looked for: nothing blocks, nothing outside it is read."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubesched_lint.engine.base.data import shipped
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.files import UnreadableError, content, opened, place_of, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.project.baseline import read_baseline
from kubesched_lint.project.config.file import read_config
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.clusters.read import contents, read_cluster
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import LARGEST, InputFile
from kubesched_lint.sources.manifests.kustomize.overlays import piped
from kubesched_lint.sources.manifests.loader import source_lines
from kubesched_lint.writing import destination, replacing
from tests.program import called

ROOT = Path(__file__).parents[2]
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
SECRET = "hunter2: this is nobody's business\n"
LEAVES = "a link that leads out of the repository: it is not read"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one good file, beside a secret; it is the current folder."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "good.yaml").write_text(POD)
    (tmp_path / "outside").mkdir()
    for name in ("secret", "secret.yaml", "secret.md", "secret.toml"):
        (tmp_path / "outside" / name).write_text(SECRET)
    monkeypatch.chdir(folder)
    return folder


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *args, cwd=folder)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def process(path: Path) -> None:
    path.symlink_to("/proc/self/environ")


def secret(path: Path) -> None:
    path.symlink_to("../" * len(path.parts) + str(path.parents[2] / "outside" / "secret"))


def chain(path: Path) -> None:
    """Link by link out of the repository, so that none but the last one shows it."""
    (path.parent / "one").symlink_to("two")
    (path.parent / "two").symlink_to("../../outside/secret.yaml")
    path.symlink_to("one")


def through_folder(path: Path) -> None:
    (path.parent / "way").symlink_to("../../outside")
    path.symlink_to("way/secret.yaml")


def gone(path: Path) -> None:
    path.symlink_to("../../outside/nothing-there.yaml")


LEAVING = (device, process, secret, chain, through_folder, gone)
"""Links that leave the repository, each made at a path two folders below its parent."""


# --- manifests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", LEAVING)
@pytest.mark.parametrize("asked", ["manifests", "manifests/x.yaml", "."])
def test_a_link_that_leaves_the_repository_is_told_and_not_read(
    repository: Path, make: Callable[[Path], None], asked: str
) -> None:
    make(repository / "manifests" / "x.yaml")
    errors = [found for found in find_files([asked], render=False) if isinstance(found, InputError)]
    assert [(os.path.basename(e.path), e.message) for e in errors] == [("x.yaml", LEAVES)]
    assert source_lines_of("manifests/x.yaml") == ()


def source_lines_of(path: str) -> tuple[str, ...]:
    return tuple(source_lines(path))


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_neither_is_a_kustomization(repository: Path, name: str) -> None:
    secret(repository / "manifests" / name)
    found = list(find_files(["manifests"]))
    assert not any(isinstance(f, InputFile) and b"hunter2" in f.data for f in found)
    assert [f.path for f in found if isinstance(f, InputFile)] == ["manifests/good.yaml"]


def test_a_link_inside_the_repository_is_followed(repository: Path) -> None:
    (repository / "base").mkdir()
    (repository / "base" / "real.yaml").write_text(POD)
    (repository / "manifests" / "x.yaml").symlink_to("../base/real.yaml")
    found = list(find_files(["manifests"]))
    assert [(f.path, f.data) for f in found if isinstance(f, InputFile)] == [
        ("manifests/good.yaml", POD.encode()),
        ("manifests/x.yaml", POD.encode()),
    ]


@pytest.mark.parametrize("named", ["way", "way/secret.yaml", "way/../way", "./way/"])
def test_a_named_folder_that_leaves_the_repository_is_not_entered(repository: Path, named: str) -> None:
    (repository / "way").symlink_to("../outside")
    (found,) = find_files([named])
    assert isinstance(found, InputError)
    assert found.message == LEAVES


def test_a_repository_that_a_link_leads_to_is_not_ours(repository: Path) -> None:
    """The folder outside calls itself a repository: what counts is the one that the link leaves."""
    (repository.parent / "outside" / ".git").mkdir()
    (repository / "way").symlink_to("../outside")
    (found,) = find_files(["way"])
    assert isinstance(found, InputError)
    assert found.message == LEAVES


def test_without_a_repository_the_current_folder_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "unpacked"
    (folder / "manifests").mkdir(parents=True)
    (folder / "real.yaml").write_text(POD)
    (tmp_path / "secret.yaml").write_text(SECRET)
    (folder / "manifests" / "in.yaml").symlink_to("../real.yaml")
    (folder / "manifests" / "out.yaml").symlink_to("../../secret.yaml")
    monkeypatch.chdir(folder)
    found = {os.path.basename(f.path): type(f) for f in find_files(["manifests"])}
    assert found == {"in.yaml": InputFile, "out.yaml": InputError}


def test_elsewhere_the_folder_that_was_named_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "manifests" / "deep").mkdir(parents=True)
    (tmp_path / "manifests" / "real.yaml").write_text(POD)
    (tmp_path / "secret.yaml").write_text(SECRET)
    (tmp_path / "manifests" / "deep" / "in.yaml").symlink_to("../real.yaml")
    (tmp_path / "manifests" / "deep" / "out.yaml").symlink_to("../../secret.yaml")
    found = {os.path.basename(f.path): type(f) for f in find_files([str(tmp_path / "manifests")])}
    assert found == {"in.yaml": InputFile, "out.yaml": InputError}, "in.yaml is real.yaml, and is read once"
    (named,) = find_files([str(tmp_path / "manifests" / "deep" / "out.yaml")])
    assert isinstance(named, InputError)


def test_a_link_that_a_person_names_outside_any_repository_is_followed(tmp_path: Path) -> None:
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2" / "a.yaml").write_text(POD)
    (tmp_path / "current").symlink_to("v2")
    assert [type(f) for f in find_files([str(tmp_path / "current")])] == [InputFile]


@pytest.mark.parametrize("asked", ["manifests", "manifests/x.yaml"])
def test_a_pipe_that_nobody_writes_to_does_not_stop_us(repository: Path, asked: str) -> None:
    os.mkfifo(repository / "manifests" / "x.yaml")
    assert InputError("manifests/x.yaml", "not a regular file") in list(find_files([asked]))


@pytest.mark.parametrize("asked", ["manifests", "manifests/x.yaml"])
def test_nor_does_a_link_to_one(repository: Path, asked: str) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "manifests" / "x.yaml").symlink_to("../pipe")
    assert InputError("manifests/x.yaml", "not a regular file") in list(find_files([asked]))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/proc/kmsg", "/proc/self/mem", "/proc/self/pagemap"])
def test_not_even_a_person_makes_us_wait_for_a_device(path: str) -> None:
    if not os.path.exists(path):
        pytest.skip("the system has none")
    (found,) = find_files([path])
    assert isinstance(found, InputError)


def test_a_socket_is_no_file(repository: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as made:
        made.bind("manifests/x.yaml")
        assert InputError("manifests/x.yaml", "not a regular file") in list(find_files(["manifests"]))


def test_a_file_with_holes_is_read_up_to_the_limit(repository: Path) -> None:
    with (repository / "manifests" / "x.yaml").open("wb") as file:
        file.write(b"apiVersion: v1\nkind: Pod\n")
        file.truncate(1 << 40)
    errors = [f.message for f in find_files(["manifests"]) if isinstance(f, InputError)]
    assert len(errors) == 1
    assert f"{LARGEST >> 20} MiB" in errors[0]


def test_the_run_says_so_once_and_ends_with_two(repository: Path) -> None:
    secret(repository / "manifests" / "x.yaml")
    done = lint(repository, "manifests", "--format", "json")
    assert done.returncode == 2
    report = json.loads(done.stdout)
    assert [(e["path"], e["message"]) for e in report["errors"]] == [("manifests/x.yaml", LEAVES)]
    assert report["summary"]["documents"] == 1
    assert "hunter2" not in done.stdout + done.stderr


def test_what_a_shell_substitutes_is_read(repository: Path) -> None:
    command = f'"{sys.executable}" -m kubesched_lint lint <(cat manifests/good.yaml) --format json --no-config'
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=repository, env=environ, capture_output=True, text=True)
    assert json.loads(done.stdout)["summary"]["documents"] == 1


def test_output_of_helm_names_no_file_of_others(repository: Path) -> None:
    """A frame shows the template that a piped document came from; its path stands in the text that is piped."""
    for name in (
        "../outside/secret.yaml",
        "a/../../outside/secret.yaml",
        str(repository.parent / "outside/secret.yaml"),
    ):
        file = piped(InputFile("<stdin>", f"---\n# Source: {name}\n{POD}".encode()))
        shown = repr(file if isinstance(file, InputError | Skipped) else file.rendering)
        assert "hunter2" not in shown
    (repository / "templates").mkdir()
    (repository / "templates" / "a.yaml").write_text(SECRET)
    file = piped(InputFile("<stdin>", f"---\n# Source: templates/a.yaml\n{POD}".encode()))
    assert "hunter2" in repr(file.rendering), "or the test would prove nothing"


# --- everything else that is opened ---------------------------------------------------------------------------------


def configuration(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(str(path), rulebook_with())
    return str(caught.value)


def baseline(path: Path) -> str:
    with pytest.raises(BaselineError) as caught:
        read_baseline(str(path), rulebook_with())
    return str(caught.value)


def cluster(path: Path) -> str:
    with pytest.raises(ClusterError) as caught:
        read_cluster(str(path))
    return caught.value.message


def cluster_folder(path: Path) -> str:
    (path.parent / "good.yaml").unlink()
    return cluster(path.parent)


def card(path: Path) -> str:
    (fault,) = rulebook_with([str(path.parent)]).faults
    return fault.message


READERS = (
    (configuration, "kubesched.toml"),
    (baseline, "baseline.json"),
    (cluster, "cluster.json"),
    (cluster_folder, "cluster.yaml"),
    (card, "own-rule.md"),
)


@pytest.mark.parametrize("make", LEAVING)
@pytest.mark.parametrize(("read", "name"), READERS)
def test_what_leaves_the_repository_is_not_read(
    repository: Path, read: Callable[[Path], str], name: str, make: Callable[[Path], None]
) -> None:
    path = repository / "manifests" / name
    make(path)
    text = read(path)
    assert LEAVES in text
    assert "hunter2" not in text


@pytest.mark.parametrize(("read", "name"), READERS)
def test_a_pipe_is_no_file_for_anybody(repository: Path, read: Callable[[Path], str], name: str) -> None:
    path = repository / "manifests" / name
    os.mkfifo(path)
    assert "not a regular file" in read(path)


@pytest.mark.parametrize(("read", "name"), READERS[:2] + READERS[4:])
def test_what_is_far_too_large_is_not_read_to_its_end(repository: Path, read: Callable[[Path], str], name: str) -> None:
    path = repository / "manifests" / name
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "larger than" in read(path)


def test_a_cluster_with_holes_is_not_read_to_its_end(repository: Path) -> None:
    path = repository / "cluster.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "is not text" in cluster(path)
    with pytest.raises(UnreadableError, match="larger than 2,048 MiB"):
        contents(str(path))


# --- reports that are written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["out.json", "way/out.json"])
def test_no_report_is_written_through_a_link_out_of_the_repository(repository: Path, way: str) -> None:
    outside = repository.parent / "outside"
    (outside / "out.json").write_text(SECRET)
    (repository / "out.json").symlink_to("../outside/out.json")
    (repository / "way").symlink_to("../outside")
    done = lint(repository, "manifests", "--format", f"json={way}")
    assert done.returncode == 2
    assert "a link leads out of the repository: nothing is written there" in done.stderr
    assert (outside / "out.json").read_text() == SECRET
    with pytest.raises(OSError, match="nothing is written there"):
        destination(way)


def test_a_report_is_written_through_a_link_inside(repository: Path) -> None:
    (repository / "reports").mkdir()
    (repository / "reports" / "real.json").write_text("{}")
    (repository / "out.json").symlink_to("reports/real.json")
    assert lint(repository, "manifests", "--format", "json=out.json").returncode < 2
    assert (repository / "out.json").is_symlink()
    assert json.loads((repository / "reports" / "real.json").read_text())["summary"]["documents"] == 1


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_only_a_regular_file_is_replaced(repository: Path, kind: str) -> None:
    path = repository / "out"
    {"pipe": os.mkfifo, "link": lambda p: os.symlink("manifests/good.yaml", p), "folder": os.mkdir}[kind](path)
    with pytest.raises(OSError, match="not a regular file"), replacing(str(path)) as file:
        file.write(b"new")
    assert (repository / "manifests" / "good.yaml").read_text() == POD
    assert sorted(os.listdir(repository)) == [".git", "manifests", "out"]


# --- the opener -----------------------------------------------------------------------------------------------------


def test_the_root_of_a_path(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert root_of("manifests/good.yaml") == str(repository)
    assert root_of("manifests/../manifests") == str(repository)
    assert root_of("..") == ""
    assert root_of("../outside/secret") == ""
    (repository / "vendored" / ".git").mkdir(parents=True)
    assert root_of("vendored/x.yaml") == str(repository / "vendored")
    monkeypatch.chdir(repository.parent / "outside")
    assert root_of("secret") == str(repository.parent / "outside")
    monkeypatch.chdir("/")
    assert root_of("etc/passwd") == ""


def test_a_place_knows_if_a_link_led_there(repository: Path) -> None:
    (repository / "x").symlink_to("manifests")
    (repository / "y.yaml").symlink_to("manifests/good.yaml")
    assert [place_of(p).is_linked for p in ("manifests/good.yaml", "x/good.yaml", "y.yaml")] == [False, True, True]
    (repository.parent / "way-in").symlink_to("repository")
    assert not place_of(str(repository.parent / "way-in" / "manifests")).is_linked


def test_what_a_repository_names_may_not_leave_its_root(repository: Path) -> None:
    for name in ("../outside/secret", "/etc/hostname", str(repository) + "-not"):
        with pytest.raises(UnreadableError):
            content(name, 10, root=str(repository))
    assert content("manifests/good.yaml", 3, root=str(repository)) == POD[:4].encode()


def test_nothing_is_opened_through_a_link_that_takes_the_place_of_a_file(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = os.stat

    def swapping(path: str, **how: object) -> os.stat_result:
        found = stat(path, **how)  # type: ignore[call-overload]
        os.unlink(path)
        os.symlink("/dev/zero", path)
        return found

    monkeypatch.setattr("kubesched_lint.files.os.stat", swapping)
    monkeypatch.setattr("os.path.islink", lambda path: False)
    monkeypatch.setattr("os.path.lexists", lambda path: False)
    with pytest.raises(OSError, match="symbolic links"):
        opened(str(repository / "manifests" / "good.yaml"))


def test_what_is_shipped_is_found() -> None:
    assert json.loads(shipped(__file__, "../../kubesched_lint/schemas/cluster.schema.json"))


MAY_READ = {
    "files.py": "the opener",
    "engine/base/data.py": "data that the package ships, by a path that no user gives",
    "rulebook/entry_points.py": "metadata of installed packages, on every start; half of what the opener costs",
    "cli/ending.py": "puts the null device where a stream is closed",
    "lsp/server.py": "its own standard input, by a copy of the descriptor; no path",
    "custom/build.py": "run by those who work on this package, on its own files",
    "rulebook/build.py": "run by those who work on this package, on its own files",
}
"""Modules that open files to read them, and why."""


OPENERS = ("os", "io", "gzip", "bz2", "lzma", "codecs", "File", "Path")


def reads(tree: ast.AST) -> Iterator[int]:
    """Lines that open a file and do not say that it is to write."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in ("read_text", "read_bytes", "fdopen", "open_binary", "open_text"):
            yield node.lineno
        elif name == "open" and (owner is None or getattr(owner, "id", "") in OPENERS):
            mode = ast.dump(ast.Module([ast.Expr(a) for a in (*node.args[1:], *(k.value for k in node.keywords))], []))
            if not any(f"'{w}{rest}'" in mode for w in "wxa" for rest in ("", "b")) and "O_WRONLY" not in mode:
                yield node.lineno


def test_no_other_module_opens_files_to_read_them() -> None:
    package = ROOT / "kubesched_lint"
    texts = {str(path.relative_to(package)): path.read_text() for path in package.rglob("*.py")}
    suspects = {name: text for name, text in texts.items() if re.search("open|read_text|read_bytes", text)}
    assert {name for name, text in suspects.items() if any(True for _ in reads(ast.parse(text)))} == set(MAY_READ)


def test_the_test_above_sees_what_it_looks_for() -> None:
    for line in (
        "open(p)",
        "open(p, 'rb')",
        "os.open(p, os.O_RDONLY)",
        "f.read_text()",
        "gzip.open(p, 'rt')",
        "io.open(p)",
    ):
        assert list(reads(ast.parse(line))) == [1]
    for line in ("open(p, 'w')", "open(p, 'xb')", "os.open(p, os.O_WRONLY | os.O_CREAT)", "desk.open(document)"):
        assert list(reads(ast.parse(line))) == []
