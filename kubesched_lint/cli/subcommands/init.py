"""``kubesched-lint init``: write a sketch of a real cluster, a short file to edit and to keep beside the manifests."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import typer

from kubesched_lint.cli.first_gate import make_gate
from kubesched_lint.cli.parsing.options import NodeGroups
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.engine.cluster.cluster import LIVE, Cluster, ClusterError
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.printing import OutputError, say, tell
from kubesched_lint.programs import ProgramError, run
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster, small_contents
from kubesched_lint.sources.sketches.sketching import Style, sketch_of
from kubesched_lint.sources.sketches.talos import talos_sketch
from kubesched_lint.writing import destination, replacing

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_KUBECTL = ("kubectl", "get", "nodes", "-o", "json")
_POOLS = ("kubectl", "get", "nodepools.karpenter.sh", "-o", "json")


@app.command(cls=Command)
def init(
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="Output of `kubectl get nodes -o json` (with Karpenter: nodes,nodepools), plain or gzipped, or a "
            "folder of such files; - is standard input. Also machine configurations of Talos, or talhelper's "
            "talconfig.yaml. Without FILE, init runs kubectl if a terminal is attached.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.  [default: standard output]")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Write all labels and amounts as they are, and explain the fields.")
    ] = False,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0,
            max=50,
            help="Merge nodes whose allocatable resources differ by at most this; writes the smallest.  "
            "[default: 2; with --exact 0]",
            show_default=False,
        ),
    ] = None,
    node_groups: Annotated[
        NodeGroups | None,
        typer.Option(
            "--node-groups",
            help="Whether these nodes and pools show every node group of the cluster. At a terminal, init asks.",
            show_default=False,
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="PATH",
            help="Also write the baseline of what lint finds in these manifests, and kubesched.toml if there is no "
            "configuration; say what blocks from now on. Repeatable; needs --output.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")] = False,
) -> None:
    """Write a short sketch of a cluster's nodes, for --cluster.

    Joins the nodes of a group, leaves out labels that follow from others or that nobody selects on, and copies
    Karpenter's NodePools.

    Examples:

      kubectl get nodes -o json | kubesched-lint init --node-groups complete -o cluster.yaml

      kubectl get nodes,nodepools -o json | kubesched-lint init

      kubesched-lint init nodes.json --exact

      kubesched-lint init nodes.json -o cluster.yaml --gate manifests/

      kubesched-lint init talos/talconfig.yaml -o cluster.yaml
    """
    if gate and output is None:
        context.fail("--gate needs the name of the sketch: --output cluster.yaml")
    try:
        sketch = _of_talos(file, node_groups.value if node_groups else "")
        cluster = cluster_from([(output or "sketch", sketch.encode())], "sketch") if sketch else _cluster(file)
    except ClusterError as error:
        raise _failed(str(error)) from None
    if not sketch:
        decided = node_groups.value if node_groups else _asked(cluster)
        sketch = sketch_of(cluster, Style(exact, within, decided))
    if output is None:
        say(sketch.removesuffix("\n"))
    else:
        _write(output, sketch, force)
        tell(f"{output}: {len(cluster.inventory.nodes)} nodes in {_entries(sketch)} entries")
    if gate and output is not None:
        try:
            code = make_gate(context, gate, output, force=force)
        except OutputError as error:
            raise _failed(str(error)) from None
        if code:
            raise typer.Exit(code)
    left_out = _left_out(cluster, "# The devices are left out" in sketch)
    if left_out:
        tell(f"left out: {left_out}; `kubesched-lint snapshot` keeps them")


def _left_out(cluster: Cluster, lacks_devices: bool) -> str:
    """Return the objects that a sketch does not hold, with their number: ``volumes (1), pods (3)``."""
    written = {"nodes", "node_pools", "node_overlays", "schedulers", "device_classes"}
    written |= set() if lacks_devices else {"resource_slices", "device_taint_rules"}
    return ", ".join(
        f"{name.replace('_', ' ')} ({len(objects):,})"
        for name, objects in cluster.inventory.lists()
        if objects and name not in written
    )


def _entries(sketch: str) -> int:
    """Return the number of node entries in a sketch; pools, and the scheduler's configuration, follow them."""
    return sketch.partition("\n---")[0].partition("\npools:")[0].count("\n- name: ")


def _asked(cluster: Cluster) -> str:
    """Return the answer of a person at a terminal; empty if nobody can answer, or the answer is known or no matter."""
    known = KnownGroups(cluster)
    if cluster.node_groups or not known.is_elastic or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    groups = ", ".join(group.name for group in known.inferred) or "none"
    tell(f"node groups that have a node: {groups}")
    try:
        has_others = typer.confirm("Can pods also land on a node group that has no node now?", default=False, err=True)
    except typer.Abort:  # Ctrl-C or Ctrl-D at the question
        raise KeyboardInterrupt from None
    chosen = NodeGroups.OPEN if has_others else NodeGroups.COMPLETE
    effect = "is only a warning" if has_others else "is an error"
    tell(f"nodeGroups: {chosen.value}; a pod that no node of these groups can run {effect}")
    return chosen.value


def _of_talos(file: str | None, node_groups: str) -> str:
    """Return the sketch of machine configurations of Talos; empty for other files. Raises ClusterError."""
    if file is None or file == "-" or file.partition(":")[0] == LIVE or not os.path.lexists(file):
        return ""
    try:
        contents_of_file = small_contents(file)
    except OSError:
        return ""  # whoever reads it as a cluster reports the error
    return talos_sketch(contents_of_file, file, node_groups) if contents_of_file else ""


def _cluster(file: str | None) -> Cluster:
    if file is not None and file != "-":
        return read_cluster(file)
    if file is None and sys.stdin.isatty():
        nodes = _kubectl()
        pools = _node_pools() if b'"karpenter.sh/nodepool"' in nodes else None
        pieces = [("kubectl get nodes", nodes), *([] if pools is None else [("kubectl get nodepools", pools)])]
        return cluster_from(pieces, "kubectl get nodes")
    return cluster_from([("<stdin>", sys.stdin.buffer.read())], "<stdin>")


def _kubectl() -> bytes:
    if shutil.which(_KUBECTL[0]) is None:
        raise _failed(
            "no FILE is given, and kubectl is not on the PATH. Pass the output of `kubectl get nodes -o json` "
            "as FILE or on standard input."
        )
    output, fault = _ran(_KUBECTL)
    if fault:
        raise _failed(fault)
    return output


def _node_pools() -> bytes | None:
    """Return NodePools as JSON; if kubectl fails, print the reason and return None, because nodes alone are enough."""
    output, fault = _ran(_POOLS)
    if fault:
        tell(f"{fault}; the sketch holds no pools")
        return None
    return output


def _ran(command: tuple[str, ...]) -> tuple[bytes, str]:
    """Return (standard output, error message) of a command; the message is empty on success."""
    tell(f"running {' '.join(command)}")
    try:
        done = run(command, name="kubectl", largest=1 << 30)
    except ProgramError as error:
        return b"", str(error)
    return done.out, f"kubectl failed: {done.error.strip()}" if done.code else ""


def _write(output: str, sketch: str, force: bool) -> None:
    try:
        real = destination(output)
        if os.path.lexists(real) and not force:
            raise _failed(f"{output} exists; --force overwrites it")
        with replacing(real) as file:
            file.write(sketch.encode())
    except OSError as error:
        raise _failed(f"{output}: cannot be written: {error.strerror}") from None


def _failed(message: str) -> typer.Exit:
    tell(f"error: {message}")
    return typer.Exit(2)
