"""What the lint of one healthy file does not import: it takes about a millisecond each."""

from __future__ import annotations

import subprocess
import sys


def test_one_healthy_file_spells_no_name_and_reads_no_folder() -> None:
    code = (
        "import sys; from kubesched_lint.cli import linting, main\n"
        "sys.argv[1:] = ['lint', 'fixtures/shop/web.yaml', '--no-cache', '--no-config', '--color', 'never']\n"
        "import atexit, os\n"
        "leave = os._exit\n"
        "late = {'difflib', 'hashlib', 'ipaddress', 'pathlib', 'kubesched_lint.sources.clusters.read'}\n"
        "os._exit = lambda code: (print(late & sys.modules.keys(), flush=True), leave(code))\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, text=True, check=False)
    assert "set()" in run.stdout + run.stderr, run.stdout + run.stderr
