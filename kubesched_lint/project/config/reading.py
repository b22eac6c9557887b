"""Decoding of a configuration table into Config, or into all its errors with their places."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from glob import has_magic
from typing import cast

from msgspec import Struct, field

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.releases import NO_VERSION, is_asked_for
from kubesched_lint.engine.base.text import did_you_mean, one_line, seconds_of
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.feature_gates import parsed
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError, Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import Override
from kubesched_lint.project.config.keys import (
    BY_NAME,
    OVERRIDE_KEYS,
    OWN_RULES,
    SCHEMA_KEY,
    TABLES,
    TARGET_KEYS,
    TARGET_SETTINGS,
    Config,
    ConfigError,
    ConfigKey,
    Given,
    Target,
)
from kubesched_lint.project.config.matching import Matcher, TooManyError
from kubesched_lint.project.config.pinned import beside, in_copy
from kubesched_lint.project.config.rule_settings import (
    SEVERITY,
    TOO_LARGE,
    SettingError,
    param_of,
    rule_named,
    severity_of,
    shown,
)
from kubesched_lint.project.config.toml_places import Spot
from kubesched_lint.project.limits import MOST_COMPARED
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.sketches.fields import UnknownFieldError
from kubesched_lint.sources.sketches.pools import DECLARED_FIELDS, declared_groups

_NUL = "a name cannot have the character U+0000"


class Where(Struct, frozen=True):
    """The file as messages name it, its folder (absolute), the current folder, and the places of its keys."""

    file: str
    folder: str
    current_folder: str
    spots: Mapping[Path, Spot] = field(default_factory=dict)
    top: Path = ()
    """The path of our table in the file: ``("tool", "kubesched-lint")`` in a pyproject.toml."""
    root: str = ""
    """Real path of the file's repository, or empty; the configuration may name no file outside it."""
    copy: str = ""
    """A copy of the current folder that has the files which decide what is found; empty: they are where they are."""

    def spot(self, path: Path) -> Spot:
        return self.spots.get((*self.top, *path), Spot(1, 1, 1, 1))


def config_of(table: Mapping[str, object], where: Where, rulebook: Rulebook) -> Config:
    """Return the configuration in a table. Raises ConfigError with every problem in it."""
    reading = _Reading(where, rulebook)
    config = reading.config(table)
    if reading.problems:
        raise ConfigError(sorted(reading.problems, key=lambda p: (p.line, p.column)))
    return config


class _Reading:
    """One pass over a table that collects its problems."""

    def __init__(self, where: Where, rulebook: Rulebook) -> None:
        self.where = where
        self.rulebook = rulebook
        self.problems: list[InputError] = []
        self.matcher = Matcher(where.root)

    def config(self, table: Mapping[str, object]) -> Config:
        values: dict[str, Given] = {}
        # Load own rules first, because other keys may name them.
        for name, value in sorted(table.items(), key=lambda item: item[0] != OWN_RULES):
            if name in BY_NAME and "." not in name:
                setting = self._value(BY_NAME[name], value, (name,))
                if setting is not None:
                    values[name] = Given(setting, self._origin((name,)))
                    if name == OWN_RULES:
                        self.rulebook = rulebook_with((*self.rulebook.asked, *cast("tuple[str, ...]", setting)))
            elif name not in TABLES and name != SCHEMA_KEY:
                near = did_you_mean(name, (*BY_NAME, *TABLES))
                self._wrong((name,), f"unknown key `{name}`{near}", key=True)
        values |= self._of_table("gitops", table.get("gitops"))
        params, severities = self._rules(table.get("rules"))
        excluded = values.get("exclude")
        globs = self._globs(excluded.value) if excluded else Globs()
        overrides = tuple(self._overrides(table.get("overrides")))
        targets = tuple(self._targets(table.get("targets")))
        return Config(self.where.file, values, params, severities, overrides, globs, targets, rulebook=self.rulebook)

    def _of_table(self, name: str, value: object) -> dict[str, Given]:
        """Return the values of the keys that stand in a table."""
        values: dict[str, Given] = {}
        for key, given in self._table(value, (name,)):
            known = BY_NAME.get(f"{name}.{key}")
            if known is None:
                near = did_you_mean(
                    key, [dotted.rpartition(".")[2] for dotted in BY_NAME if dotted.startswith(f"{name}.")]
                )
                self._wrong((name, key), f"unknown key `{key}`{near}", key=True)
            elif (setting := self._value(known, given, (name, key))) is not None:
                values[known.name] = Given(setting, self._origin((name, key)))
        return values

    def _value(self, key: ConfigKey, value: object, path: Path) -> object:
        """The decoded value; None when it is invalid, after recording the problem."""
        if key.is_list:
            items = self._strings(value, path)
            wrong = [i for i, item in enumerate(items or ()) if not self._is_item(key, item, (*path, i))]
            if items is None or wrong:
                return None
            shaped = {"formats": self._format, "folders": self._deciding, "inputs": self._beside}.get(key.kind, str)
            return tuple(map(shaped, items))
        if key.kind == "groups":
            return self._groups(value, path)
        if key.kind == "path" and isinstance(value, str) and value:
            return self._path(key, value, path)
        problem = _misfit(key, value)
        if problem:
            self._wrong(path, problem)
        return None if problem else value

    def _groups(self, value: object, path: Path) -> tuple[NodePool, ...] | None:
        """The declared node groups; None when they are invalid, after recording the problem."""
        try:
            return tuple(declared_groups({str(path[-1]): value}, str(path[-1])))
        except UnknownFieldError as error:
            name = str(error.path[-1])
            at = (*path[:-1], *error.path)
            self._wrong(at, f"unknown key `{name}`{did_you_mean(name, DECLARED_FIELDS)}", key=True)
        except DecodeError as error:
            message = error.message.partition(": ")[2] or error.message
            self._wrong((*path[:-1], *error.path), message)
        return None

    def _path(self, key: ConfigKey, value: str, path: Path) -> str | None:
        if key.name == "cluster" and (value == "live" or value.startswith("live:")):
            self._wrong(path, "a configuration cannot connect to a live cluster; use --cluster live")
            return None
        problem = _NUL if "\0" in value else self._leaves_the_repository(value)
        if problem:
            self._wrong(path, problem)
        return None if problem else self._deciding(value)

    def _leaves_the_repository(self, name: str) -> str:
        """The problem with a path outside the repository, or empty: a repository must not make us read other files."""
        real = os.path.realpath(os.path.join(self.where.folder, os.path.expanduser(name)))
        if is_within(real, self.where.root):
            return ""
        return f"{shown(name)} lies outside {self.where.root}; use a flag to name it"

    def _beside(self, name: str) -> str:
        return beside(self.where.file, name)

    def _deciding(self, name: str) -> str:
        """Where a file or folder is that decides what is found."""
        return in_copy(self._beside(name), self.where.copy)

    def _format(self, text: str) -> str:
        name, equals, file = text.partition("=")
        return f"{name}={self._beside(file)}" if file not in ("", "-") else f"{name}{equals}{file}"

    def _is_item(self, key: ConfigKey, item: str, path: Path) -> bool:
        """Whether an item of a list is valid; records the problem if not."""
        problem = ""
        if not item:
            problem = "the string is empty"
        elif "\0" in item:
            problem = _NUL
        elif key.kind == "rules":
            try:
                self.rulebook.resolve(item)
            except UnknownRuleError as error:
                problem = str(error)
        elif key.kind == "events" and item not in key.choices:
            problem = f"expected one of {', '.join(key.choices)}, found {shown(item)}{did_you_mean(item, key.choices)}"
        elif item == "-" and key.kind == "inputs":
            problem = "a target cannot read standard input"
        elif key.kind in ("folders", "inputs"):
            problem = self._leaves_the_repository(item)
        elif key.kind == "formats":
            problem = self._leaves_the_folder(item.partition("=")[2])
        if problem:
            self._wrong(path, problem)
        return not problem

    def _leaves_the_folder(self, file: str) -> str:
        """The problem with a report outside the folder, or empty: a project must not overwrite other files."""
        if file in ("", "-"):
            return ""
        folder = os.path.realpath(self.where.folder)
        real = os.path.realpath(os.path.join(folder, file))
        inside = os.path.relpath(real, folder).split(os.sep)
        if inside[0] == os.pardir or ".git" in inside:
            return f"{file} is not below {folder}; a configuration may write reports only there"
        return ""

    def _strings(self, value: object, path: Path) -> list[str] | None:
        if isinstance(value, str):
            self._wrong(path, f"expected a list of strings, found {shown(value)}; write [{shown(value)}]")
            return None
        if not isinstance(value, list):
            self._wrong(path, f"expected a list of strings, found {shown(value)}")
            return None
        odd = next((i for i, item in enumerate(value) if not isinstance(item, str)), None)
        if odd is not None:
            self._wrong((*path, odd), f"expected a string, found {shown(value[odd])}")
            return None
        return value

    def _rules(self, value: object) -> tuple[dict[str, dict[str, Given]], dict[str, Given]]:
        params: dict[str, dict[str, Given]] = {}
        severities: dict[str, Given] = {}
        for slug, settings in self._table(value, ("rules",)):
            for name, given in self._table(settings, ("rules", slug), of_rule=True):
                path: Path = ("rules", slug, name)
                try:
                    rule = rule_named(slug, self.rulebook)
                    if name == SEVERITY:
                        severities[rule.slug] = Given(severity_of(given, rule), self._origin(path))
                    else:
                        taken = param_of(name, given, rule, self.rulebook)
                        params.setdefault(rule.slug, {})[name] = Given(taken, self._origin(path))
                except SettingError as error:
                    self._wrong(path, str(error), key=error.at_key)
        return params, severities

    def _table(self, value: object, path: Path, *, of_rule: bool = False) -> Iterator[tuple[str, object]]:
        if value is None:
            return
        if not isinstance(value, dict):
            example = "[rules.<rule>] with its settings below" if path[0] == "rules" else "a table"
            self._wrong(path, f"expected {example}, found {shown(value)}")
            return
        if of_rule:
            try:
                rule_named(str(path[-1]), self.rulebook)
            except SettingError as error:
                self._wrong(path, str(error), key=True)
                return
        yield from value.items()

    def _overrides(self, value: object) -> Iterator[Override]:
        if value is None:
            return
        if not isinstance(value, list):
            self._wrong(("overrides",), f"expected [[overrides]], with two brackets, found {shown(value)}", key=True)
            return
        for number, entry in enumerate(value):
            path: Path = ("overrides", number)
            if not isinstance(entry, dict):
                self._wrong(path, f"expected a table with paths, found {shown(entry)}")
                continue
            for name in entry:
                if name not in OVERRIDE_KEYS:
                    self._wrong((*path, name), f"unknown key `{name}`{did_you_mean(name, OVERRIDE_KEYS)}", key=True)
            if not entry.get("paths"):
                self._wrong(
                    (*path, "paths") if "paths" in entry else path, "an override needs paths, a list of patterns"
                )
                continue
            yield self._override(entry, path)

    def _override(self, entry: Mapping[str, object], path: Path) -> Override:
        paths = self._value(ConfigKey("paths", "globs", ""), entry["paths"], (*path, "paths")) or ()
        ignored = self._value(BY_NAME["ignore"], entry.get("ignore", []), (*path, "ignore")) or ()
        severities: dict[str, Severity] = {}
        for slug, word in self._table(entry.get("severities"), (*path, "severities")):
            try:
                rule = rule_named(slug, self.rulebook)
                severities[rule.slug] = severity_of(word, rule)
            except SettingError as error:
                self._wrong((*path, "severities", slug), str(error), key=error.at_key)
        assert isinstance(ignored, tuple)
        slugs = tuple(sorted({rule.slug for name in ignored for rule in self.rulebook.resolve(name)}))
        return Override(self._globs(paths), slugs, severities, self._origin(path))

    def _targets(self, value: object) -> Iterator[Target]:
        if value is not None and not isinstance(value, list):
            self._wrong(("targets",), f"expected [[targets]], with two brackets, found {shown(value)}", key=True)
            return
        names: set[str] = set()
        for number, entry in enumerate(value or ()):
            path: Path = ("targets", number)
            if not isinstance(entry, dict):
                self._wrong(path, f"expected a table with name and paths, found {shown(entry)}")
                continue
            target = self._target(entry, path)
            if target and target.name in names:
                self._wrong((*path, "name"), f"another target is called {shown(target.name)}")
            elif target:
                names.add(target.name)
                yield target

    def _target(self, entry: Mapping[str, object], path: Path) -> Target | None:
        known = (*TARGET_KEYS, *TARGET_SETTINGS)
        values: dict[str, Given] = {}
        for key, value in entry.items():
            if key in TARGET_SETTINGS:
                setting = self._value(BY_NAME[key], value, (*path, key))
                if setting is not None:
                    values[key] = Given(setting, self._origin((*path, key)))
            elif key not in TARGET_KEYS:
                self._wrong((*path, key), f"unknown key `{key}`{did_you_mean(key, known)}", key=True)
        is_entry = "entry" in entry
        for key in ("name", "entry" if is_entry else "paths"):
            if not entry.get(key):
                self._wrong((*path, key) if key in entry else path, f"a target needs `{key}`")
                return None
        name = self._value(ConfigKey("name", "string", ""), entry["name"], (*path, "name"))
        paths = self._entry(entry, path) if is_entry else self._paths(entry["paths"], (*path, "paths"))
        if isinstance(name, str) and not name.isprintable():
            self._wrong((*path, "name"), "a name has printable characters only")
            return None
        is_whole = isinstance(name, str) and paths is not None
        return Target(str(name), paths, values, is_entry) if is_whole and paths is not None else None

    def _paths(self, value: object, path: Path) -> tuple[str, ...] | None:
        paths = self._value(ConfigKey("paths", "inputs", ""), value, path)
        return tuple(self._matching(paths, path)) if isinstance(paths, tuple) else None

    def _entry(self, entry: Mapping[str, object], path: Path) -> tuple[str, ...] | None:
        """The entry point of a target, as its only path; it has no others."""
        if "paths" in entry:
            self._wrong((*path, "paths"), "a target has `paths` or `entry`, not both", key=True)
            return None
        if not isinstance(entry["entry"], str):
            self._wrong((*path, "entry"), f"expected a string, found {shown(entry['entry'])}")
            return None
        places = self._value(ConfigKey("entry", "inputs", ""), [entry["entry"]], (*path, "entry"))
        return places if isinstance(places, tuple) else None

    def _matching(self, paths: Sequence[str], path: Path) -> Iterator[str]:
        """Yield the paths of a target; for a pattern such as ``teams/*/prod``, each file or folder that it matches."""
        seen: set[str] = set()
        for pattern in paths:
            is_pattern = has_magic(pattern) and not os.path.lexists(pattern)
            try:
                matches = self.matcher.matches(pattern) if is_pattern else [pattern]
            except TooManyError:
                self._wrong(path, f"more than {MOST_COMPARED:,} files and folders to compare with {shown(pattern)}")
                return
            if not matches:
                self._wrong(path, f"nothing matches {shown(pattern)}")
            for each in matches:
                below = os.path.relpath(os.path.abspath(each), self.where.folder)
                if is_pattern and (problem := self._leaves_the_repository(below)):
                    self._wrong(path, problem)
                elif each not in seen:
                    yield each
            seen.update(matches)

    def _globs(self, patterns: object) -> Globs:
        assert isinstance(patterns, tuple)
        return Globs(patterns, self.where.folder, self.where.current_folder)

    def _origin(self, path: Path) -> str:
        return f"{self.where.file}:{self.where.spot(path).line}"

    def _wrong(self, path: Path, message: str, *, key: bool = False) -> None:
        spot = self.where.spot(path)
        line, column = (spot.line, spot.column) if key else (spot.value_line, spot.value_column)
        name = "" if key else "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).removeprefix(".")
        message = one_line(f"{name}: {message}" if name else message)
        self.problems.append(InputError(self.where.file, message, line, column))


def _wrong_gates(value: str) -> str:
    try:
        parsed(value)
    except ValueError as error:
        return str(error)
    return ""


def _misfit(key: ConfigKey, value: object) -> str:
    """The problem with the value of a key that is not a list; empty when it is valid."""
    if key.kind == "boolean":
        return "" if isinstance(value, bool) else f"expected true or false, found {shown(value)}"
    if key.kind == "percent":
        is_percent = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100
        return "" if is_percent else f"expected a whole number from 0 to 100, found {shown(value)}"
    if not isinstance(value, str) or not value:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < TOO_LARGE
        return f"expected a string, found {shown(value)}" + (f'; write "{value}", in quotes' if is_number else "")
    if key.kind == "duration" and seconds_of(value) is None:
        return f"expected a duration such as 12h, 7d or 2w, found {shown(value)}"
    if key.kind == "version" and not is_asked_for(value):
        return f"{shown(value)} is {NO_VERSION}"
    if key.kind == "gates":
        return _wrong_gates(value)
    if key.choices and value not in key.choices:
        near = did_you_mean(value, key.choices)
        return f"expected one of {', '.join(key.choices)}, found {shown(value)}{near}"
    return ""
