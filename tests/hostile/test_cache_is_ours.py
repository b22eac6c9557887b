"""Reports that are kept: told again only as they were written, and only from a folder that nobody else may enter."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.cache import WORTHWHILE, CacheFolder, Kept
from kubesched_lint.findings import Report, Summary
from tests.program import called

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = "0123456789abcdef"
REPORT = Report(summary=Summary(files=3, notes=("as it was",)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    CacheFolder(str(folder)).keep(KEY, Kept(REPORT, None))
    assert found(folder) == REPORT
    return folder


def found(folder: Path, key: str = KEY) -> Report | None:
    return CacheFolder(str(folder)).find(key, NOW)


def entry(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_folder_and_entry_are_the_users_alone(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry(folder).stat().st_mode & 0o777 == 0o600


def test_an_entry_of_which_any_bit_differs_is_not_found(folder: Path) -> None:
    file = entry(folder)
    data = file.read_bytes()
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        file.write_bytes(broken)
        assert found(folder) is None, bit
    file.write_bytes(data)
    assert found(folder) == REPORT


def test_neither_is_one_that_is_cut_off_or_longer(folder: Path) -> None:
    file = entry(folder)
    data = file.read_bytes()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        assert found(folder) is None
    file.write_bytes(data + b"\0")
    assert found(folder) is None


def test_an_entry_under_another_name_is_not_that_report(folder: Path) -> None:
    other = "fedcba9876543210"
    entry(folder).rename(folder / f"{other}.report")
    assert found(folder, other) is None


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_enter_is_not_used(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    assert found(folder) is None
    CacheFolder(str(folder)).keep("aa", Kept(REPORT, None))
    assert len(list(folder.iterdir())) == 1, "nothing is written there"
    assert folder.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    os.chown(folder, 12345, -1)
    assert found(folder) is None
    CacheFolder(str(folder)).keep("aa", Kept(REPORT, None))
    assert len(list(folder.iterdir())) == 1


def test_a_link_to_a_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert found(link) is None
    CacheFolder(str(link)).keep("aa", Kept(REPORT, None))
    assert len(list(folder.iterdir())) == 1


def test_a_link_to_an_entry_is_not_followed(folder: Path, tmp_path: Path) -> None:
    file = entry(folder)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert found(folder) is None


def test_to_keep_replaces_a_link_and_not_what_it_names(folder: Path, tmp_path: Path) -> None:
    file = entry(folder)
    file.unlink()
    (tmp_path / "precious").write_text("as it was")
    file.symlink_to(tmp_path / "precious")
    CacheFolder(str(folder)).keep(KEY, Kept(REPORT, None))
    assert (tmp_path / "precious").read_text() == "as it was"
    assert found(folder) == REPORT


def test_a_pipe_in_its_place_does_not_stop_us(folder: Path) -> None:
    file = entry(folder)
    file.unlink()
    os.mkfifo(file)
    assert found(folder) is None


def test_to_make_room_removes_links_and_not_what_they_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("as it was" * 1000)
    for number in range(20):
        (folder / f"{number}.report").symlink_to(tmp_path / "precious")
    CacheFolder(str(folder), largest=100).keep("aa", Kept(REPORT, None))
    assert (tmp_path / "precious").exists()


def test_a_run_tells_the_truth_whatever_became_of_its_entry(tmp_path: Path) -> None:
    """From end to end: the second run would tell the kept report, and a forged one says that all is well."""
    padding = "x" * (WORTHWHILE // 40)
    pods = (
        f"# {padding}\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{n}}}\n"
        "spec: {nodeSelector: {disk: none}, containers: [{name: c, image: i}]}\n"
        for n in range(40)
    )
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "all.yaml").write_text("---\n".join(pods))
    cache = tmp_path / "cache"
    sketch = ROOT / "fixtures/seeds/B6/cluster.yaml"
    environ = {**os.environ, "KUBESCHED_LINT_CACHE_DIR": str(cache)}

    def run() -> str:
        return called("lint", "set", "-c", sketch, "--format", "json", cwd=tmp_path, environ=environ).stdout

    first = run()
    file = entry(cache)
    data = file.read_bytes()
    broken = bytearray(data)
    broken[random.Random(1).randrange(len(data))] ^= 4
    file.write_bytes(broken)
    assert run() == first
    assert file.read_bytes() == data, "it was judged anew and kept again"
