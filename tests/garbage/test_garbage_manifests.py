"""Whatever a manifest holds, reading it raises nothing, says where it broke, and hides no other file or document."""

from __future__ import annotations

from typing import Any

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.base.releases import MODELLED
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.linter.waivers.waivers import find_waivers
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from tests import drawn as st
from tests.drawn import given
from tests.garbage.garbage import FIXTURES, ODD, STYLES, disturbed, drawn, is_inside, manifests, mutated, written
from tests.manifests.yaml_texts import odd_texts

FILES = [f.read_bytes() for f in sorted((*(FIXTURES / "shop").glob("*.yaml"), *(FIXTURES / "hostile").glob("*")))]
GOOD = b"\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: still-here}\nspec: {containers: [{name: c, image: i}]}\n"
NAMES = st.sampled_from(["m.yaml", "m.json", "patches/m.yaml"])


def read(data: bytes, path: str = "m.yaml") -> ManifestSet:
    """Reads as ``lint`` does, and holds every place against the text."""
    entries = list(documents(path, data, is_read))
    found = manifest_set(entries, "default")
    for error in found.errors:
        assert error.path == path
        assert is_inside(error.line, error.column, data), error
        assert error.message
        assert "\n" not in error.message
    for entry in entries:
        assert is_inside(max(entry.line, 1), 1, data), entry
        if isinstance(entry, Document):
            for path_ in ((), ("metadata", "name"), ("spec", "template", "spec", "containers", 0, "image")):
                span = entry.span(path_, key=True)
                assert is_inside(span.line, span.column, data), (path_, span)
                assert (span.line, span.column) <= (span.end_line, span.end_column)
    return found


@drawn(250)
@given(st.sampled_from(FILES).flatmap(disturbed), NAMES)
def test_a_file_that_was_disturbed_is_read_or_refused_at_a_place(data: bytes, path: str) -> None:
    read(data, path)


@drawn(150)
@given(st.one_of(odd_texts().map(str.encode), st.binary(max_size=80)), NAMES)
def test_no_heap_of_lines_and_bytes_raises(data: bytes, path: str) -> None:
    read(data, path)


@drawn(250)
@given(st.data(), STYLES)
def test_any_value_of_any_object_may_be_anything(data: st.DataObject, style: str) -> None:
    value = data.draw(mutated(data.draw(st.sampled_from(manifests()))))
    read(written(style, value).encode("utf-8", "surrogatepass"))


@drawn(200)
@given(st.data(), st.sampled_from(MODELLED))
def test_every_object_has_a_verdict(data: st.DataObject, version: str) -> None:
    value = data.draw(mutated(data.draw(st.sampled_from(manifests()))))
    verdict = validate(value, version=version)
    assert verdict.accepted is (verdict.code == 200)
    assert verdict.accepted is not bool(verdict.causes)
    assert all(isinstance(str(cause), str) for cause in verdict.causes)


@drawn(80)
@given(st.data())
def test_a_broken_document_hides_none_of_those_behind_it(data: st.DataObject) -> None:
    """Unless it is JSON, which no line ``---`` parts."""
    before = data.draw(
        st.sampled_from(FILES).flatmap(disturbed).filter(lambda d: d[:2] not in (b"\xff\xfe", b"\xfe\xff"))
    )
    before = b"# no JSON\n" + before + (b"\n" if before.endswith(b"%") else b"")
    found = read(before + GOOD)
    names = [d.value.get("metadata", {}) for d in found.documents if isinstance(d.value.get("metadata"), dict)]
    templated = any("Helm" in skipped.reason for skipped in found.skipped)
    assert templated or "still-here" in [meta.get("name") for meta in names]


@drawn(60)
@given(st.data(), st.booleans())
def test_items_of_a_list_are_judged_one_by_one(data: st.DataObject, is_typed: bool) -> None:
    objects = data.draw(st.lists(st.sampled_from(manifests()), min_size=2, max_size=4))
    items: list[Any] = [data.draw(mutated(value, most=1)) for value in objects]
    items += [data.draw(ODD)]
    value = {"apiVersion": "v1", "kind": "PodList" if is_typed else "List", "items": items}
    read(written("lines", value).encode("utf-8", "surrogatepass"))


PIECES = [
    "# kubesched: ignore[", "x, y", "]", " because", "\n", "a: b ", "'", '"', "# ", "kubesched:", "|\n  ", "---\n",
    "{", "\x85",
    "\u2028", "\udc80", "[", "\t", "#", ",", "- ", "é", "pvc-missing",
]  # fmt: skip


@drawn(150)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_waivers_are_found_or_not_but_always_in_the_text(text: str) -> None:
    lines = text.replace("\x85", "\n").replace("\u2028", "\n").split("\n")
    for waiver in find_waivers(text, "m.yaml"):
        assert 1 <= waiver.at.line <= len(lines)
        assert 1 <= waiver.at.column <= len(lines[waiver.at.line - 1])
