"""Charts of our own making as archives, and a ``helm`` that serves or renders them without Helm."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

needs_helm = pytest.mark.skipif(
    shutil.which("helm") is None and not os.environ.get("KUBESCHED_NEEDS_HELM"), reason="helm is not on PATH"
)
"""Where CI promises helm, a missing one is a failure."""
CHART = "apiVersion: v2\nname: {name}\nversion: {version}\n"
VALUES = """\
replicaCount: 3
nodeSelector: {}
tolerations: []
front:
  affinity: {}
  priorityClassName: high
"""
TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-front"}
spec:
  replicas: {{ .Values.replicaCount }}
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      priorityClassName: {{ .Values.front.priorityClassName }}
      nodeSelector: {{ toJson .Values.nodeSelector }}
      tolerations: {{ toJson .Values.tolerations }}
      affinity: {{ toJson .Values.front.affinity }}
      containers: [{name: app, image: web, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
"""
SCHEMA = '{"$ref": "https://example.invalid/values.schema.json"}'
WEB = {"Chart.yaml": CHART.format(name="web", version="1.2.3"), "values.yaml": VALUES, "templates/web.yaml": TEMPLATE}


def packed(files: Mapping[str, str], name: str = "web") -> bytes:
    """The archive of a chart, always with the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            data = text.encode()
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def program(folder: Path, script: str) -> Path:
    """A ``helm`` in a folder for PATH."""
    folder.mkdir(exist_ok=True)
    file = folder / "helm"
    file.write_text(f"#!/bin/sh\n{script}")
    file.chmod(0o755)
    return folder
