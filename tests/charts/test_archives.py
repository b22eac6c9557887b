"""An archive of a chart is untrusted: nothing leaves the folder, and nothing grows without end."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.sources.charts.archive import ArchiveError, unpacked
from kubesched_lint.sources.charts.folder import archive, keep
from tests.charts.packing import SCHEMA, WEB, packed


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member, data in members:
            member.size = len(data) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def test_a_chart_is_unpacked_without_its_schemas(tmp_path: Path) -> None:
    inner = packed({"Chart.yaml": "name: sub\n", "values.schema.json": SCHEMA}, "sub")
    files = {**WEB, "values.schema.json": SCHEMA, "charts/other/values.schema.json": SCHEMA}
    out = tarred(
        *((member(f"web/{name}"), text.encode()) for name, text in files.items()),
        (member("web/charts/sub-1.tgz"), inner),
    )
    chart = unpacked(out, str(tmp_path / "chart"))
    assert os.path.basename(chart) == "web"
    found = sorted(str(path.relative_to(chart)) for path in Path(chart).rglob("*") if path.is_file())
    assert found == ["Chart.yaml", "charts/sub/Chart.yaml", "templates/web.yaml", "values.yaml"]


@pytest.mark.parametrize(
    ("name", "kind", "link", "why"),
    [
        ("../evil", tarfile.REGTYPE, "", "leads out of it"),
        ("web/../../evil", tarfile.REGTYPE, "", "leads out of it"),
        ("/etc/evil", tarfile.REGTYPE, "", "leads out of it"),
        ("web\\..\\evil", tarfile.REGTYPE, "", "leads out of it"),
        ("web/link", tarfile.SYMTYPE, "/etc/passwd", "no regular file"),
        ("web/hard", tarfile.LNKTYPE, "web/Chart.yaml", "no regular file"),
        ("web/pipe", tarfile.FIFOTYPE, "", "no regular file"),
        ("web/device", tarfile.CHRTYPE, "", "no regular file"),
        ("web/Chart.yaml", tarfile.REGTYPE, "", "in it twice"),
    ],
)
def test_what_leads_elsewhere_is_refused(tmp_path: Path, name: str, kind: bytes, link: str, why: str) -> None:
    out = tarred((member("web/Chart.yaml"), b"name: web\n"), (member(name, kind, link), b"x"))
    with pytest.raises(ArchiveError, match=why):
        unpacked(out, str(tmp_path / "chart"))
    assert {path.name for path in tmp_path.rglob("*")} <= {"chart", "web", "Chart.yaml"}


def test_a_few_bytes_that_become_many_are_refused(tmp_path: Path) -> None:
    zeros = io.BytesIO()
    with gzip.GzipFile(fileobj=zeros, mode="wb") as out:
        for _ in range(2 * (LARGEST_OUTPUT >> 20) + 1):
            out.write(bytes(1 << 20))
    with pytest.raises(ArchiveError, match="it becomes more than 128 MiB"):
        unpacked(zeros.getvalue(), str(tmp_path / "chart"))


def test_archives_inside_archives_end_somewhere(tmp_path: Path) -> None:
    inner = packed({"Chart.yaml": "name: a\n"}, "a")
    for _ in range(6):
        inner = tarred((member("a/Chart.yaml"), b"name: a\n"), (member("a/charts/a.tgz"), inner))
    with pytest.raises(ArchiveError, match="in 4 others"):
        unpacked(inner, str(tmp_path / "chart"))


@pytest.mark.parametrize("data", [b"", b"x", gzip.compress(b"x"), packed({"values.yaml": ""}), packed(WEB)[:-20]])
def test_what_is_no_chart_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "chart").mkdir()
    with pytest.raises(ArchiveError):
        unpacked(data, str(tmp_path / "chart"))


@given(data=st.binary(max_size=300), at=st.integers(0, 300))
def test_garbage_makes_no_other_error(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int) -> None:
    whole = packed(WEB)
    for garbage in (data, whole[:at] + data + whole[at + len(data) :]):
        folder = tmp_path_factory.mktemp("garbage") / "chart"
        folder.mkdir()
        try:
            unpacked(garbage, str(folder))
        except ArchiveError:
            pass


def test_an_archive_is_found_by_its_digest_alone(tmp_path: Path) -> None:
    folder = tmp_path / "charts"
    digest = keep(str(folder), packed(WEB))
    assert archive(str(folder), digest) == packed(WEB)
    assert archive(str(folder), "0" * 64) is None
    (folder / f"{digest}.tgz").write_bytes(b"another")
    assert archive(str(folder), digest) is None
    folder.chmod(0o755)
    assert archive(str(folder), keep(str(tmp_path / "other"), packed(WEB))) is None
