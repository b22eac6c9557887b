"""Limits of what is read from files."""

from __future__ import annotations

LARGEST = 16 << 20
"""Bytes of one file, and of what is filled in or read for edits. A larger file is not read, which a message says: a
Kubernetes object cannot be larger than 1.5 MiB (etcd)."""
LARGEST_EDITED = 2_000_000
"""Characters of a document that is edited; in a longer one, nothing is fixed: parsing it would need gigabytes."""
LONGEST_SEARCHED = 1 << 14
"""Characters of JSON that are searched anew for each place; of longer text all places are found at once, with the same
result."""
MOST_DEPTH = 200
"""Levels of nesting; a deeper document is an error, because libyaml needs more time for each level. Folders that lie
deeper are an error, too, and not listed by what Flux makes for a folder."""
MOST_PARTS = 3_000_000
"""Keys, values and collections of a document; one with more is an error. A file of 16 MiB has about half as many."""
MOST_ALIASED = 400_000
"""Values that the aliases of a document add; with more it is an error, as for go-yaml v2."""
MOST_DIRECTIVES = 100
"""``%TAG`` lines of a document; with more it is an error, because libyaml compares each with all before it."""
MOST_FILES = 20_000
"""Files of a Helm chart; a chart with more is not rendered, which a message says."""
MOST_FOLDERS = 2_000
"""Folders that a kustomization builds on; one with more is not rendered, which a message says."""
MOST_LOOKED_AT = 100
"""Files of a folder that tell what it holds; a sign that comes later is not seen."""
MOST_DEFAULTS = 8
"""Defaults inside one another, as in ``${a:=${b:=c}}``; what lies deeper stays as it is written."""
