"""An archive of a chart is untrusted: nothing leaves the folder, and nothing grows without end."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.sources.charts.folder import archive, keep
from kubesched_lint.sources.manifests.chart_folders.chart_archive import ArchiveError, chart_in
from kubesched_lint.sources.manifests.limits import MOST_FILES
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


def read(*members: tuple[tarfile.TarInfo, bytes]) -> dict[str, bytes]:
    """The files of a chart ``web`` with some members."""
    return dict(chart_in(tarred((member("web/Chart.yaml"), b"name: web\n"), *members)).files)


def test_a_chart_is_read_without_its_schemas() -> None:
    inner = packed({"Chart.yaml": "name: sub\n", "values.schema.json": SCHEMA}, "sub")
    files = {**WEB, "values.schema.json": SCHEMA, "charts/other/values.schema.json": SCHEMA}
    out = tarred(
        *((member(f"web/{name}"), text.encode()) for name, text in files.items()),
        (member("web/charts/sub-1.tgz"), inner),
    )
    chart = chart_in(out)
    assert chart.folder == "web"
    assert sorted(chart.files) == ["Chart.yaml", "charts/sub-1/Chart.yaml", "templates/web.yaml", "values.yaml"]
    assert chart_in(chart.packed()).files == chart.files
    assert sorted(chart_in(out, frozenset({"values.yaml", "Chart.yaml"})).files) == [
        "Chart.yaml",
        "charts/sub-1/Chart.yaml",
        "values.yaml",
    ]


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
        ("web/disk", tarfile.BLKTYPE, "", "no regular file"),
        ("web/Chart.yaml", tarfile.REGTYPE, "", "in it twice"),
        ("web/./Chart.yaml", tarfile.REGTYPE, "", "in it twice"),
        ("Chart.yaml", tarfile.REGTYPE, "", "outside the folder of the chart"),
        ("web/\x1b[31m\n../x/..", tarfile.REGTYPE, "", r"'web/\\x1b\[31m\\n../x/..' leads out of it"),
    ],
)
def test_what_leads_elsewhere_is_refused(name: str, kind: bytes, link: str, why: str) -> None:
    with pytest.raises(ArchiveError, match=why):
        read((member(name, kind, link), b"x"))
    inner = tarred((member(name, kind, link), b"x"), (member("web/Chart.yaml"), b"name: web\n"))
    with pytest.raises(ArchiveError, match=why):
        read((member("web/charts/a.tgz"), inner))


def test_files_are_those_that_helm_takes_from_an_archive() -> None:
    """It keeps the names as they are: what a disk would join or hide is still there, whatever the outermost folder."""
    deep = "a/" * 1_500
    found = read(
        (member("web/chart.yaml"), b"other"),
        (member("other/templates/a.yaml"), b"a"),
        (member("web/.helmignore"), b"templates/"),
        (member(f"web/{deep}b"), b"b"),
        (member("web/a"), b"a file and a folder"),
        (member(f"web/{'x' * 300}"), b"long"),
    )
    assert found["chart.yaml"] == b"other"
    assert found["templates/a.yaml"] == b"a"
    assert len(found) == 7
    inner = packed({"Chart.yaml": "name: a\n", "templates/a.yaml": "a"}, "a")
    kept = ("files/charts/a.tgz", "templates/charts/a.tgz", "charts/a.tar.gz", "charts/b/more/charts/a.tgz")
    found = read(*((member(f"web/{path}"), inner) for path in (*kept, "charts/a.tgz", "charts/a-2.tgz")))
    assert {path for path, data in found.items() if data == inner} == set(kept)
    assert found["charts/a/templates/a.yaml"] == found["charts/a-2/templates/a.yaml"] == b"a"


def _zeros(size: int) -> bytes:
    """An archive whose end is followed by zeros, of several MiB."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as file:
        file.write(gzip.decompress(packed({"Chart.yaml": "name: a\n"}, "a")))
        for _ in range(size):
            file.write(bytes(1 << 20))
    return out.getvalue()


def test_a_few_bytes_that_become_many_are_refused() -> None:
    with pytest.raises(ArchiveError, match="it becomes more than 64 MiB"):
        chart_in(_zeros(LARGEST_OUTPUT >> 20))


@pytest.mark.parametrize("below", ["charts", "charts/a/charts"])
def test_archives_inside_share_the_bytes_of_the_whole(below: str) -> None:
    inner = _zeros(10)
    with pytest.raises(ArchiveError, match="it becomes more than 64 MiB"):
        read(*((member(f"web/{below}/s{number}.tgz"), inner) for number in range(7)))


def test_archives_inside_share_the_files_of_the_whole() -> None:
    one, each = 400, MOST_FILES // 40
    files = [tarred(*((member(f"s{sub}/f{number}"), b"") for number in range(each))) for sub in range(3)]
    schemas = tarred(*((member(f"s/{number}/values.schema.json"), b"") for number in range(MOST_FILES // 2)))
    assert len(read(*((member(f"web/charts/s{n}.tgz"), data) for n, data in enumerate(files)))) == 3 * each + 1
    with pytest.raises(ArchiveError, match="it has more than 20,000 files"):
        read(*((member(f"web/charts/s{number}.tgz"), schemas) for number in range(one)))


def test_archives_inside_archives_end_somewhere() -> None:
    inner = packed({"Chart.yaml": "name: a\n"}, "a")
    for _ in range(6):
        inner = tarred((member("a/Chart.yaml"), b"name: a\n"), (member("a/charts/a.tgz"), inner))
    with pytest.raises(ArchiveError, match="in 4 others"):
        chart_in(inner)


def test_a_file_that_only_claims_to_be_large_is_refused() -> None:
    sparse = tarfile.TarInfo("web/sparse")
    sizes = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x", "GNU.sparse.realsize": "1" * 12}
    sparse.pax_headers, sparse.size = sizes, 512
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(sparse, io.BytesIO(b"1\n0\n512\n".ljust(512, b"\0")))
    with pytest.raises(ArchiveError, match="no regular file"):
        chart_in(gzip.compress(out.getvalue()))


@pytest.mark.parametrize(
    "data", [b"", b"x", gzip.compress(b"x", mtime=0), packed({"values.yaml": ""}), packed(WEB)[:-20]]
)
def test_what_is_no_chart_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        chart_in(data)


@given(data=st.binary(max_size=300), at=st.integers(0, 300))
def test_garbage_makes_no_other_error(data: bytes, at: int) -> None:
    whole = packed(WEB)
    tar = gzip.decompress(whole)
    inside = gzip.compress(tar[:at] + data + tar[at + len(data) :], mtime=0)
    for garbage in (data, whole[:at] + data + whole[at + len(data) :], inside):
        try:
            chart_in(garbage)
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
