"""``kubesched-lint snapshot``: save what scheduling reads from a live cluster in one file."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import scrypt
from typing import Annotated

import typer

from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.printing import safe_json, tell, write_bytes
from kubesched_lint.progress import shown
from kubesched_lint.sources.capture import CaptureError, Snapshot, capture, connect
from kubesched_lint.sources.capture.snapshot import now
from kubesched_lint.sources.redaction.redact import Redactor
from kubesched_lint.sources.scheduler_config.file import read_scheduler_config

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command)
def snapshot(
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.  [default: the current one]")
    ] = None,
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only objects of this namespace. Repeatable."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, gzipped if it ends in .gz; - is standard output."
        ),
    ] = "cluster.json.gz",
    redact: Annotated[bool, typer.Option("--redact", help="Replace names by pseudonyms.")] = False,
    redact_key: Annotated[
        str | None,
        typer.Option(
            metavar="SECRET",
            envvar="KUBESCHED_LINT_REDACT_KEY",
            help="Key that makes pseudonyms equal in several snapshots.  [default: random]",
        ),
    ] = None,
    scheduler_config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save what decides in this KubeSchedulerConfiguration too."),
    ] = None,
    request_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit for one answer of the API server.")
    ] = 60.0,
    list_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Time limit for all pages of one list; all lists together have three times as long.",
        ),
    ] = 600.0,
    allow_gaps: Annotated[
        bool, typer.Option("--allow-gaps", help="Write the file even when the API server fails to return a list.")
    ] = False,
) -> None:
    """Save what scheduling reads from a live cluster, for --cluster.

    Uses kubectl's kubeconfig, or the service account inside a pod, and needs only the verb `list`; `get` of /metrics
    also tells the feature gates. `check --rbac` prints the ClusterRole. Does not save environment variables, Secrets or
    ConfigMaps. Of annotations, saves only those that scheduling reads; docs/snapshot.md names them.

    Examples:

      kubesched-lint snapshot -o cluster.json.gz

      kubesched-lint snapshot --context prod --redact -o prod.json.gz
    """
    scheduler = _configuration(scheduler_config) if scheduler_config else None
    try:
        connection = connect(context, read_seconds=request_timeout, list_seconds=list_timeout)
        with shown("capturing the cluster"):
            captured = capture(
                connection,
                now(),
                namespaces=tuple(namespaces or ()),
                redactor=_redactor(redact_key) if redact or redact_key else None,
                progress=at,
                scheduler=scheduler,
            )
    except CaptureError as error:
        raise _failed(str(error)) from None
    if "Node" not in captured.metadata["kinds"]:
        why = next((gap for gap in captured.gaps if gap.startswith("nodes: ")), "nodes: not listed")
        raise _failed(f"{why}: nothing is written without nodes (`kubesched-lint check --rbac` prints the ClusterRole)")
    if captured.failures and not allow_gaps:
        for gap in captured.gaps:
            tell(f"missing: {gap}")
        raise _failed("the API server failed, so nothing is written; --allow-gaps writes the rest")
    size = _write(captured, output)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in captured.counts.items())
    tell(f"{output}: {kinds or 'no objects'}{f' ({size / 1024:,.0f} KiB)' if size else ''}")
    for gap in captured.gaps:
        tell(f"missing: {gap}")
    if any("(403)" in gap for gap in captured.gaps):
        tell("`kubesched-lint check --rbac` prints the ClusterRole with all permissions that snapshot needs")
    if captured.unknown_gates:
        tell(f"feature gates are unknown: {captured.unknown_gates}; --feature-gates of lint and simulate states them")


def _configuration(path: str) -> Mapping[str, object]:
    """Return a configuration of kube-scheduler that it would accept."""
    try:
        return read_scheduler_config(path, scores_capacity=True)[0].configuration
    except ClusterError as error:
        raise _failed(str(error)) from None


def _redactor(key: str | None) -> Redactor:
    """Return a redactor with this key, or with a random one, so that nobody can verify a guessed name."""
    if not key:
        return Redactor(secrets.token_bytes(32))
    # scrypt is slow on purpose: it makes guessing names and short keys expensive.
    return Redactor(scrypt(key.encode(), salt=b"kubesched-lint snapshot", n=1 << 14, r=8, p=1, dklen=32))


def _write(captured: Snapshot, output: str) -> int:
    """Write the snapshot. Return the size of the file in bytes; 0 for standard output."""
    try:
        if output == "-":
            write_bytes(safe_json(piece.decode()).encode() for piece in captured.pieces())
            return 0
        return captured.write(output)
    except OSError as error:
        raise _failed(f"{output}: cannot be written: {error.strerror or error}") from None


def _failed(message: str) -> typer.Exit:
    tell(f"error: {message}")
    return typer.Exit(2)
