"""``python -m kubesched_lint``."""

from kubesched_lint.cli import main

main()
