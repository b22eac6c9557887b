"""Reduces the published Kubernetes schemas to what strict decoding needs: the fields of each type, and their Go types.

    pip download --no-deps kubernetes-validate==1.37.0
    python scripts/build_schemas.py kubernetes_validate-1.37.0-py3-none-any.whl

It writes one file for every modelled version to ``kubesched_lint/engine/apiserver/data``: lines that map each type to
its fields, as ``name=code`` separated by spaces. ``kubesched_lint/engine/apiserver/values/schema.py`` explains the
codes. The schemas call every enumeration a string, but the API server's messages name the Go type. So
``scripts/go_named_types.txt`` lists ``Type.field GoType`` for the fields whose Go type has a name.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from kubesched_lint.engine.base.releases import MODELLED

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "kubesched_lint" / "engine" / "apiserver" / "data"
ROOTS = (
    *(f"io.k8s.api.apps.v1.{kind}" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    *(f"io.k8s.api.autoscaling.{v}.HorizontalPodAutoscaler" for v in ("v1", "v2")),
    *(f"io.k8s.api.batch.v1.{kind}" for kind in ("CronJob", "Job")),
    *(
        f"io.k8s.api.core.v1.{kind}"
        for kind in (
            "LimitRange",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
            "Service",
        )
    ),
    "io.k8s.api.node.v1.RuntimeClass",
    "io.k8s.api.policy.v1.PodDisruptionBudget",
    "io.k8s.api.scheduling.v1.PriorityClass",
    "io.k8s.api.storage.v1.StorageClass",
)
# Roots that not every version has.
YOUNG = (
    *(
        f"io.k8s.api.scheduling.{version}.{kind}"
        for version in ("v1alpha2", "v1alpha3", "v1beta1")
        for kind in ("PodGroup", "Workload")
    ),
    *(
        f"io.k8s.api.resource.{version}.{kind}"
        for version in ("v1", "v1beta2", "v1beta1")
        for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
    ),
)
# Types that decode themselves (UnmarshalJSON), and the one that keeps its bytes.
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "r",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "t",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "r",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
}
SCALARS = {("string", ""): "s", ("boolean", ""): "b", ("integer", "int32"): "i", ("integer", "int64"): "l"}

Schema = dict[str, Any]


def type_name(definition: str) -> str:
    """``io.k8s.api.core.v1.PodSpec`` as Go prints it: ``v1.PodSpec``."""
    if definition == "io.k8s.api.resource.v1.ResourceClaim":  # the core group has a type of this name
        return "resource/v1.ResourceClaim"
    return ".".join(definition.split(".")[-2:])


def reference(schema: Schema) -> str | None:
    target = schema.get("$ref")
    return target.rsplit("/", 1)[-1] if target else None


def code(schema: Schema, go_name: str) -> str:
    """The code of a field; ``go_name`` is its Go type if that has a name, else empty."""
    suffix = f":{go_name}" if go_name else ""
    target = reference(schema)
    if target is not None:
        return SPECIAL.get(target) or f"*{type_name(target)}"
    kind = schema["type"]
    kind = kind if isinstance(kind, str) else next(each_kind for each_kind in kind if each_kind != "null")
    if kind == "array":
        return f"[{code(schema['items'], go_name.removeprefix('[]'))}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return "{" + code(inner, "") + suffix if isinstance(inner, dict) else "r"
    if schema.get("format") == "date-time":
        return "t"
    return SCALARS[kind, schema.get("format", "")] + suffix


def reachable(definitions: dict[str, Schema]) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    waiting = [*ROOTS, *(name for name in YOUNG if name in definitions)]
    while waiting:
        name = waiting.pop()
        if name in schemas or name in SPECIAL:
            continue
        schemas[name] = definitions[name]
        for schema in definitions[name].get("properties", {}).values():
            for inner in (schema, schema.get("items"), schema.get("additionalProperties")):
                if isinstance(inner, dict) and (target := reference(inner)):
                    waiting.append(target)
    return schemas


def strip(definitions: dict[str, Schema], go_types: dict[str, str]) -> dict[str, str]:
    """Type name to its fields. Raises ValueError if two definitions would share a name."""
    tables: dict[str, str] = {}
    for definition, schema in sorted(reachable(definitions).items()):
        name = type_name(definition)
        if name in tables:
            raise ValueError(f"two types are called {name}")
        fields = schema.get("properties", {}).items()
        tables[name] = " ".join(f"{key}={code(value, go_types.get(f'{name}.{key}', ''))}" for key, value in fields)
    return tables


def main(wheel: str) -> None:
    lines = (HERE / "go_named_types.txt").read_text().splitlines()
    go_types = dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    with zipfile.ZipFile(wheel) as archive:
        for version in MODELLED:
            path = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict/_definitions.json"
            tables = strip(json.loads(archive.read(path))["$defs"], go_types)
            text = "\n".join(f"{name}\t{fields}" for name, fields in sorted(tables.items()))
            target = TARGET / f"v{version}.txt"
            target.write_text(f"{text}\n")
            print(f"{target.name}: {len(tables)} types, {len(text)} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
