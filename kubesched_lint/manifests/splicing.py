"""Apply a change of a document's text to the bytes of its file: encoding, byte order mark and line ends stay."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.editing import Splice

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))


def spliced(data: bytes, document: Document, splice: Splice) -> bytes:
    """Return the bytes of a file after a splice in the text of one of its documents."""
    mark, codec = next(((m, c) for m, c in _MARKS if data.startswith(m)), (b"", "utf-8"))
    # As ``split.text_of`` decodes it: invalid UTF-8 in another document is written back unchanged.
    errors = "surrogateescape" if codec == "utf-8" else "strict"
    raw = data[len(mark) :].decode(codec, errors)
    ends = list(_LINE_END.finditer(raw))
    starts = [0, *(end.end() for end in ends)]

    def place(at: int) -> int:
        line = document.line - 1 + document.text.count("\n", 0, at)
        return starts[line] + at - document.text.rfind("\n", 0, at) - 1

    line = document.line - 1 + document.text.count("\n", 0, splice.start)
    newline = ends[min(line, len(ends) - 1)][0] if ends else "\n"
    text = raw[: place(splice.start)] + splice.text.replace("\n", newline) + raw[place(splice.end) :]
    return mark + text.encode(codec, errors)
