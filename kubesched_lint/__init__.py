"""kubesched-lint: will every pod of these manifests find a node?

>>> from kubesched_lint import lint
>>> report = lint(text="{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}")
>>> report.findings
()
"""

from __future__ import annotations

# The command line loads this module at each start, so names are imported on first use.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kubesched_lint.engine.base.errors import UncheckedError
    from kubesched_lint.engine.base.places import Location, ObjectRef, Span
    from kubesched_lint.engine.model.workloads.workload import Workload
    from kubesched_lint.explaining.remedies.remedy import Remedy
    from kubesched_lint.findings import (
        Edit,
        Evidence,
        Finding,
        Fix,
        Hazard,
        InputError,
        Place,
        Related,
        Report,
        Severity,
        Skip,
        Summary,
        Suppression,
        pattern,
        policy,
        proof,
        witness,
    )
    from kubesched_lint.library import (
        Check,
        Cluster,
        ClusterError,
        Fit,
        Outcome,
        Plan,
        Simulation,
        Why,
        as_html,
        as_json,
        as_text,
        check,
        fit,
        lint,
        load_cluster,
        load_rules,
        plan,
        simulate,
        why,
    )
    from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
    from kubesched_lint.rulebook.package_facts import Facts
    from kubesched_lint.sources.manifests.changes import Append, Put, Remove, Rename
    from kubesched_lint.version import __version__

__all__ = [
    "Append",
    "Check",
    "Cluster",
    "ClusterError",
    "Edit",
    "Evidence",
    "Facts",
    "Finding",
    "Fit",
    "Fix",
    "Hazard",
    "InputError",
    "Location",
    "ObjectRef",
    "Outcome",
    "Place",
    "Plan",
    "Put",
    "Related",
    "Remedy",
    "Remove",
    "Rename",
    "Report",
    "Rulebook",
    "Severity",
    "Simulation",
    "Skip",
    "Span",
    "Summary",
    "Suppression",
    "UncheckedError",
    "UnknownRuleError",
    "Why",
    "Workload",
    "__version__",
    "as_html",
    "as_json",
    "as_text",
    "check",
    "fit",
    "lint",
    "load_cluster",
    "load_rules",
    "pattern",
    "plan",
    "policy",
    "proof",
    "simulate",
    "why",
    "witness",
]

_HOMES = {
    "Facts": "rulebook.package_facts",
    "Remedy": "explaining.remedies.remedy",
    **dict.fromkeys(("Append", "Put", "Remove", "Rename"), "sources.manifests.changes"),
    "Workload": "engine.model.workloads.workload",
    **dict.fromkeys(("Location", "ObjectRef", "Span"), "engine.base.places"),
    "UncheckedError": "engine.base.errors",
    "Rulebook": "rulebook.library",
    "UnknownRuleError": "rulebook.library",
    "__version__": "version",
    **dict.fromkeys(
        (
            *("Check", "Cluster", "ClusterError", "Fit", "Outcome", "Plan", "Simulation", "Why"),
            *("as_html", "as_json", "as_text", "check", "fit", "lint", "load_cluster", "load_rules"),
            *("plan", "simulate", "why"),
        ),
        "library",
    ),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'findings')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
