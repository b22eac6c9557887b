"""The settings of a run and their origins. Flags override the configuration, which overrides the defaults."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import Invocation, is_given, refused
from kubesched_lint.clock import VARIABLE, ClockError, fresh_since, now, today
from kubesched_lint.custom.own import kinds_with
from kubesched_lint.engine.base.releases import NO_VERSION, is_asked_for
from kubesched_lint.engine.base.text import seconds_of
from kubesched_lint.engine.cluster.cluster import Cluster, Live
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.feature_gates import parsed
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.findings import InputError, Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import Options
from kubesched_lint.printing import tell
from kubesched_lint.project.config.file import find_config, read_config
from kubesched_lint.project.config.keys import DECIDING, DECLARED, KEYS, OWN_RULES, Config, ConfigError, Given, Target
from kubesched_lint.project.config.pinned import in_copy
from kubesched_lint.project.config.rule_settings import SettingError, from_flags
from kubesched_lint.project.weakening import NOTHING_WEAKER, in_force
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.own import rulebook_with

if TYPE_CHECKING:
    from kubesched_lint.sources.charts.rendering import Charts

DEFAULT = "default"


class Settings(Struct, frozen=True):
    """``values`` has every configuration key; ``params`` and ``severities`` have the settings of rules, by slug."""

    values: Mapping[str, Given]
    params: Mapping[str, Mapping[str, Given]]
    severities: Mapping[str, Given]
    exclude: Globs
    rulebook: Rulebook
    config: Config = field(default_factory=Config)
    is_recording: bool = False
    """Whether the findings become a baseline: no exception ends there, so that it cannot know that one has ended."""
    together: tuple[str, ...] = ()
    """The paths of the target, if a run is about one."""
    applied: bool = False
    """Whether the run is about what a GitOps controller applies from the target's path."""

    def text(self, name: str) -> str:
        return cast("str", self.values[name].value)

    def maybe(self, name: str) -> str | None:
        return cast("str | None", self.values[name].value)

    def given(self, name: str) -> Given | None:
        """Return a value with where it comes from; None if nobody gives one."""
        return None if self.values[name].value is None else self.values[name]

    def flag(self, name: str) -> bool:
        return bool(self.values[name].value)

    def names(self, name: str) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self.values[name].value)

    @property
    def cluster_options(self) -> ClusterOptions:
        return ClusterOptions(
            cast("bool | None", self.values["elastic"].value),
            self.maybe("node-groups") or "",
            cast("tuple[NodePool, ...]", self.values[DECLARED].value),
            self.maybe("scheduler-config") or "",
            self.maybe("kubernetes-version") or "",
            self.text("feature-gates"),
            fresh_since(self.text("fresh-pods")),
        )

    def in_force(self, targets: Sequence[Target] = ()) -> str:
        """The text of the footer's ``config`` line in a run over these targets; empty without a configuration file."""
        if not self.config.file:
            return ""
        return in_force(self.config, self.values, targets)

    @property
    def charts(self) -> Charts | None:
        """The pulled charts, if the configuration wants releases rendered from them."""
        if self.text("gitops.helm") == "off":
            return None
        from kubesched_lint.commands.charts.beside import charts_beside

        return charts_beside(self.config.file, self.maybe("kubernetes-version") or "")

    @property
    def options(self) -> Options:
        return Options(
            profile=self.text("profile"),
            select=self.names("select"),
            ignore=self.names("ignore"),
            namespace=self.text("namespace"),
            apply_order=self.text("apply-order"),
            kubernetes_version=self.maybe("kubernetes-version") or "",
            feature_gates=self.text("feature-gates"),
            partial=self.flag("partial"),
            survive=self.names("survive"),
            params={
                slug: {name: given.value for name, given in of_rule.items()} for slug, of_rule in self.params.items()
            },
            severities={slug: cast("Severity", given.value) for slug, given in self.severities.items()},
            overrides=self.config.overrides,
            exclude=self.exclude,
            include_tests=self.flag("include-tests"),
            together=self.together,
            applied=self.applied,
            today="" if self.is_recording else today(),
            kinds=replace(kinds_with(self.names("workload-folders")), reads_named=self.applied, charts=self.charts),
        )


def settle(context: Invocation, paths: Sequence[str]) -> Settings:
    """Return the settings of a command. Prints why and exits with 2 when the configuration or a flag is invalid."""
    try:
        return settled(context, paths)
    except ConfigError as error:
        for line in str(error).split("\n"):
            tell(f"error: {line}")
        raise SystemExit(2) from None


def settled(context: Invocation, paths: Sequence[str]) -> Settings:
    """Return the settings of a command, from its flags and the configuration file nearest to the paths.

    Their rulebook includes the rules of ``--rules`` and of the configuration's ``rule-folders``. Raises ConfigError,
    and the parser's usage errors.
    """
    try:
        now()
    except ClockError as error:
        raise ConfigError([InputError(VARIABLE, str(error).partition(": ")[2])]) from None
    copy = context.params.get("files_from") or ""
    rulebook = rulebook_with([in_copy(folder, copy) for folder in context.params.get("rule_folders") or ()])
    config = _config(context, paths, rulebook, copy)
    rulebook = config.rulebook or rulebook
    params, severities = _of_rules(context, config, rulebook)
    values = {}
    for key in KEYS:
        flag = _flag(context, key.name, copy)
        values[key.name] = flag or config.values.get(key.name) or Given(key.default, DEFAULT)
    if rulebook.asked:
        values[OWN_RULES] = _joined(values[OWN_RULES], config.values.get(OWN_RULES), rulebook)
    if values["exclude"].is_flag:
        current_folder = os.getcwd()
        exclude = Globs(cast("tuple[str, ...]", values["exclude"].value), current_folder, current_folder)
    else:
        exclude = config.globs
    return Settings(values, params, severities, exclude, rulebook, config)


def tell_configuration(*each: Settings) -> None:
    """Print the ``config`` lines on stderr that change what is found, for commands without a footer."""
    for line in dict.fromkeys(settings.in_force() for settings in each):
        if line and not line.endswith(NOTHING_WEAKER):
            tell(f"config: {line}")


def _joined(given: Given, written: Given | None, rulebook: Rulebook) -> Given:
    """Return the folders of own rules, from the flag and from the configuration."""
    origin = given.origin if written in (None, given) else f"{given.origin} and {written.origin}"
    return Given(rulebook.asked, origin)


def cluster_of(context: Invocation, settings: Settings, asked: Live | None = None) -> Cluster:
    """Read the cluster, for commands that require one. Raises ClusterError, and UsageError when none is given.

    ``asked`` is what a live cluster is asked for besides what a snapshot holds.

    Garbage collection pauses meanwhile: to read makes no cycles, and what was read stays until the end.
    """
    from kubesched_lint.sources.clusters.read import read_stated

    path = settings.maybe("cluster")
    if path is None:
        context.fail("Missing option '--cluster' / '-c', or `cluster` in kubesched.toml.")
    gc.disable()
    try:
        return read_stated(path, settings.cluster_options, asked=asked)
    finally:
        gc.freeze()
        gc.enable()


def config_file_of(context: Invocation, paths: Sequence[str]) -> str | None:
    """Return the configuration file of a command; None without one."""
    given = cast("str | None", context.params.get("config_file"))
    return find_config(paths) if given is None and not context.params.get("no_config") else given


def _config(context: Invocation, paths: Sequence[str], rulebook: Rulebook, copy: str) -> Config:
    given = config_file_of(context, paths)
    return Config() if given is None else read_config(given, rulebook, copy)


def _flag(context: Invocation, name: str, copy: str) -> Given | None:
    """Return the value of a key on the command line; None if it is not given.

    A file that decides what is found is that of ``copy``, a copy of the current folder, if there is one.
    """
    parameter = name.replace("-", "_")
    if not is_given(context, parameter):
        return None
    value = context.params[parameter]
    flag = next(p.opts[0] for p in context.command.params if p.name == parameter)
    if isinstance(value, Enum):
        value = value.value
    elif name == "kubernetes-version" and not is_asked_for(value):
        raise refused(f"{value!r} is {NO_VERSION}.", flag)
    elif name == "max-age" and seconds_of(value) is None:
        raise refused(f"{value!r} is no duration such as 12h, 7d or 2w.", flag)
    elif name == "feature-gates":
        try:
            parsed(value)
        except ValueError as error:
            raise refused(f"{error}.", flag) from None
    elif isinstance(value, list):
        value = tuple(value)
    elif value is False:
        flag = {"elastic": "--fixed", "render": "--no-render"}.get(name, flag)
    if name in DECIDING:
        value = tuple(in_copy(path, copy) for path in value) if isinstance(value, tuple) else in_copy(value, copy)
    return Given(value, flag)


def _of_rules(
    context: Invocation, config: Config, rulebook: Rulebook
) -> tuple[Mapping[str, Mapping[str, Given]], Mapping[str, Given]]:
    """Return (parameters, severities) of rules, by slug, from ``--set`` and the configuration."""
    texts = context.params.get("sets")
    if not texts:
        return config.params, config.severities
    try:
        params, severities = from_flags(texts, rulebook)
    except SettingError as error:
        raise ConfigError([InputError("--set", str(error))]) from None
    merged = {slug: dict(of_rule) for slug, of_rule in config.params.items()}
    for slug, of_rule in params.items():
        merged.setdefault(slug, {}).update({name: Given(value, "--set") for name, value in of_rule.items()})
    return merged, {**config.severities, **{slug: Given(value, "--set") for slug, value in severities.items()}}
