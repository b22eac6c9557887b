"""The lock of charts: written as it is read, and nothing in it may be taken for an option or a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.sources.charts.lock import (
    Locked,
    LockError,
    Pinned,
    are_versions,
    is_one_version,
    locked_in,
    pinned,
    text_of,
)

WEB = Pinned("https://example.com/charts", "web", "1.2.3")
OCI = Pinned("oci://ghcr.io:443/org/charts", "app", "v4.1.1-rc.1+build")


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    ranged = Pinned("https://example.com/charts", "web", ">=1.2, <2 || ~3")
    exact = Pinned("oci://ghcr.io/org", "app", "", f"sha256:{'c' * 64}")
    charts = {exact: Locked("a" * 64), WEB: Locked("a" * 64), OCI: Locked("b" * 64), ranged: Locked("a" * 64, "1.2.3")}
    (tmp_path / "lock").write_text(text_of(charts.items()))
    assert locked_in(str(tmp_path / "lock")) == charts
    assert text_of(reversed(charts.items())) == text_of(charts.items())
    assert locked_in(str(tmp_path / "none")) == {}


_HEAD = "[[charts]]\nrepository = 'https://a.b'\nchart = 'a'\n"


@pytest.mark.parametrize(
    "text",
    [
        "charts = 1",
        "x = 1",
        "[[charts]]\nrepository = 'https://a.b'",
        "[[charts]]\nrepository = '--repo=x'\nchart = 'a'\nversion = '1.2.3'\nsha256 = '{digest}'",
        "[[charts]]\nrepository = 'file:///etc'\nchart = 'a'\nversion = '1.2.3'\nsha256 = '{digest}'",
        "[[charts]]\nrepository = 'https://a.b'\nchart = '../a'\nversion = '1.2.3'\nsha256 = '{digest}'",
        "[[charts]]\nrepository = 'https://a.b'\nchart = '-a'\nversion = '1.2.3'\nsha256 = '{digest}'",
        "[[charts]]\nrepository = 'https://a.b'\nchart = 'a'\nversion = '1.x'\nsha256 = '{digest}'",
        _HEAD + "version = '1.x'\nresolved = '1'\nsha256 = '{digest}'",
        _HEAD + "version = '1.x'\nresolved = 1\nsha256 = '{digest}'",
        _HEAD + "version = '1.0.0'\nresolved = '1.0.0'\nsha256 = '{digest}'",
        _HEAD + "version = ''\nsha256 = '{digest}'",
        _HEAD + "version = ''\ndigest = '--x'\nsha256 = '{digest}'",
        _HEAD + "version = ''\ndigest = 1\nsha256 = '{digest}'",
        _HEAD + "version = 'latest'\nresolved = '1.0.0'\nsha256 = '{digest}'",
        "[[charts]]\nrepository = ['x']\nchart = 1979-05-27\nversion = {a = 1}\nsha256 = nan",
        "charts = [1, 2]",
        "charts = [[]]",
        "[charts]\na = 1",
        "a.b.c = 1",
        "[[charts]]\nrepository = 'https://a.b'\nchart = 'a'\nversion = '1.2.3'\nsha256 = '../../x'",
        "[[charts]]\nrepository = 'https://a.b'\nchart = 'a'\nversion = '1.2.3'\nsha256 = '{digest}'\nmore = 1",
        "\x00",
        "[" * 5000,
    ],
)
def test_what_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock").write_text(text.replace("{digest}", "a" * 64))
    with pytest.raises(LockError):
        locked_in(str(tmp_path / "lock"))


@given(st.text())
def test_garbage_makes_no_other_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("lock") / "lock"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        locked_in(str(file))
    except LockError:
        pass


def test_an_address_may_end_with_the_chart() -> None:
    assert pinned("oci://ghcr.io/org/charts/app/", "", "1.2.3") == Pinned("oci://ghcr.io/org/charts", "app", "1.2.3")
    assert pinned("https://example.com/charts/", "web", "1.2.3") == WEB


@pytest.mark.parametrize("version", ["", "1.2", "1.x", ">=1.2.3", "1.2.3 - 2.0.0", "latest", "1.2.3 || 2", "~1.2.3"])
def test_a_range_is_not_one_version(version: str) -> None:
    assert not is_one_version(version)


@pytest.mark.parametrize(
    "version", ["*", "1", "v1.2", "1.x", ">=1.2.3 <4-0", "1.2.3 - 2.0.0", "^1 || ~2.1", "!=1.0", "1.2.3"]
)
def test_what_helm_takes_for_versions(version: str) -> None:
    assert are_versions(version)


@pytest.mark.parametrize(
    "version", ["", "latest", "--repo=x", "-1", "1;rm", "1\n2", "{{ x }}", "$(x)", "1 " * 60, "main", "@sha256:0"]
)
def test_what_helm_does_not(version: str) -> None:
    assert not are_versions(version)
