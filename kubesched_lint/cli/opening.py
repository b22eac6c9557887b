"""Open warm sessions as the flags and the configuration say, for the language server and for ``lint --watch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.cli.settings.pairs import of_targets
from kubesched_lint.cli.settings.settings import Settings, settled
from kubesched_lint.cli.settings.targets import chosen
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.rulebook.library import UnknownRuleError
from kubesched_lint.session.session import Session
from kubesched_lint.session.several import OpeningError, Sessions

if TYPE_CHECKING:
    from kubesched_lint.cli.parsing.invocation import Invocation


def opened(call: Invocation, paths: Sequence[str], *, prefers_targets: bool = False) -> Sessions:
    """Return the sessions for paths or for targets, as ``lint`` chooses. Raises OpeningError.

    ``prefers_targets``: those of the configuration count more than the paths, unless a flag names a cluster.
    """
    try:
        settings = settled(call, paths)
        settings.options.rules(settings.rulebook)
        has_cluster = settings.values["cluster"].is_flag
        if prefers_targets and (call.params["target"] or (settings.config.targets and not has_cluster)):
            paths = ()
        return Sessions(
            _sessions(call, settings, paths), (*settings.rulebook.asked, *settings.names("workload-folders"))
        )
    except ConfigError as error:
        raise OpeningError(*error.problems) from None
    except (BaselineError, UnknownRuleError) as error:
        raise OpeningError(InputError(settings.config.file or (*paths, ".")[0], str(error))) from None
    except Exception as error:
        if not hasattr(error, "format_message"):  # a usage error of the parser
            raise
        raise OpeningError(InputError((*paths, ".")[0], error.format_message())) from None


def _sessions(call: Invocation, settings: Settings, paths: Sequence[str]) -> dict[str, Session]:
    chosen_paths, targets, _ = chosen(call, settings, paths, call.params["target"])
    targets = tuple(replace(target, is_entry=False) for target in targets)  # an editor shows files, not their builds
    request = Request(
        paths=tuple(chosen_paths),
        cluster=settings.maybe("cluster"),
        cluster_options=settings.cluster_options,
        render=settings.flag("render"),
        baseline=settings.maybe("baseline"),
        max_age=settings.maybe("max-age"),
        cache=True,
        config_file=settings.config.file,
        force_exclude=call.params.get("force_exclude", False),
    )
    if not targets:
        return {"": Session(request, settings.options, settings.rulebook)}
    pairs = of_targets(request, settings, targets).pairs
    return {
        pair.name if len(pairs) > 1 else "": Session(pair.request, pair.options, settings.rulebook) for pair in pairs
    }
