"""Where charts are: the lock beside the configuration, the archives in the user's cache."""

from __future__ import annotations

import os

from kubesched_lint.commands.lint.run import users_cache
from kubesched_lint.sources.charts.lock import NAME
from kubesched_lint.sources.charts.rendering import Charts


def lock_beside(configuration: str, folder: str = os.curdir) -> str:
    """Return the path of the lock: beside the configuration, else in the folder."""
    return os.path.normpath(os.path.join(os.path.dirname(configuration) if configuration else folder, NAME))


def charts_beside(configuration: str, version: str = "") -> Charts:
    """Return the charts of the lock beside a configuration, told a version of Kubernetes."""
    cache = users_cache()
    folder = os.path.join(cache.folder, "charts") if cache else ""
    return Charts(lock_beside(configuration), folder, cache, version)
