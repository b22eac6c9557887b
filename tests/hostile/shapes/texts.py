"""Texts that are costly to read."""

from __future__ import annotations

import json

from tests.hostile.shapes.parts import Files, affinity, nodes, stream, term, workload


def twins(n: int) -> Files:
    """One object, defined over and over."""
    return Files(
        stream(workload("w0", affinity([term("w0")], "podAntiAffinity"), replicas=1 + i % 40) for i in range(n)),
        nodes(30),
        "deployment/w0",
    )


def twins_of_many(n: int) -> Files:
    """Many objects, each defined twice and not alike."""
    return Files(
        stream(
            workload(f"w{i // 2}", affinity([term(f"w{i // 2}")], "podAntiAffinity"), replicas=1 + i % 40)
            for i in range(n)
        ),
        nodes(30),
    )


def empties(n: int) -> Files:
    return Files("a: 1\n---\n" * n + stream([workload("w0")]), nodes(3))


def config_maps(n: int) -> Files:
    return Files(
        "".join(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n---\n" for i in range(n))
        + stream([workload("w0")]),
        nodes(3),
    )


def long_line(n: int) -> Files:
    one = workload("w0")
    one["metadata"] = {"name": "w0", "annotations": {"x": "y" * n}}
    return Files(json.dumps(one), nodes(3))


def flow_list(n: int) -> Files:
    args = "[" + ",".join(["x"] * n) + "]"
    return Files(_YAML + f"        args: {args}\n", nodes(3))


def deep_flow(n: int) -> Files:
    return Files(_YAML + "        args: " + "[" * n + "]" * n + "\n", nodes(3))


def deep_block(n: int) -> Files:
    return Files("a:\n" + "".join(" " * i + "b:\n" for i in range(1, n)) + "---\n" + stream([workload("w0")]), nodes(3))


def waivers(n: int) -> Files:
    return Files(
        "# kubesched: ignore[pvc-missing] because\n" * n + _YAML + "        # kubesched: ignore[*] x\n" * n, nodes(3)
    )


def comments(n: int) -> Files:
    return Files("# kubesched-lint is fine\n" * n + _YAML, nodes(3))


def aliases(n: int) -> Files:
    """An anchor for each of the aliases that follow."""
    found = "\n".join(f"      - &a{i} {{name: v{i}, emptyDir: {{}}}}" for i in range(n))
    more = "\n".join(f"      - *a{i}" for i in range(n))
    return Files(_YAML + f"      volumes:\n{found}\n{more}\n", nodes(3))


def merges(n: int) -> Files:
    """Each mapping merges the one before it."""
    found = "\n".join(f"      - &a{i} {{<<: *a{i - 1}, k{i}: v}}" if i else "      - &a0 {k: v}" for i in range(n))
    return Files(_YAML + f"      volumes:\n{found}\n", nodes(3))


def block_items(n: int) -> Files:
    """A list in block style that is no plain YAML."""
    return Files(_YAML + "        args: # many\n" + "        - ! x\n" * n, nodes(3))


_YAML = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: w0}
spec:
  selector: {matchLabels: {app: w0}}
  template:
    metadata: {labels: {app: w0}}
    spec:
      containers:
      - name: c
        image: i:1
"""
