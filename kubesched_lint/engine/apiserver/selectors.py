"""Why the API server refuses a selector of devices: it compiles every new expression.

Mirrors CompileCELExpression of ``dynamic-resource-allocation/cel/compile.go`` (v1.36). Our compiler is another one,
with fewer functions. So an expression is refused only for what no environment of Kubernetes accepts; the cost limit is
not judged. Without the extra ``cel`` nothing is known, and nothing is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kubesched_lint.engine.base.extras import has_cel

_USUAL = re.compile(r"""\s*device\.driver\s*==\s*(?:"[^"\\]*"|'[^'\\]*')\s*""")
_FIELDS = frozenset(["driver", "attributes", "capacity", "allowMultipleAllocations"])
_ASKS_FOR_FIELD = re.compile(r"\bhas\s*\(\s*device\s*\.\s*\w+\s*\)")
"""Our environment has a variable for each field of the device, so it takes this for another expression."""
_MACRO = re.compile(
    r"\b(?:all|exists|existsOne|exists_one|map|filter|transform(?:List|Map|MapEntry)|opt(?:Map|FlatMap)|bind|block)\s*\("
)
"""What may declare variables; those with two are unknown to our compiler."""
_ERROR = re.compile(r"^(?:.*: )?ERROR: <input>:[0-9]+:[0-9]+: (.*)", re.MULTILINE)
_UNKNOWN_NAME = re.compile(r"undeclared reference to '([\w.]+)'")
_NO_OVERLOAD = re.compile(r"found no matching overload for '(?:[-!]?_\S*_?|@in)' applied to '\((.*)\)'")
_SIMPLE_TYPES = frozenset(["string", "int", "bool", "kubernetes.Quantity", "kubernetes.Semver"])
_NO_BOOLEANS = ("STRING", "INT", "UINT", "DOUBLE")
_ANYWHERE = (
    # CEL's types, functions and macros
    "bool bytes double duration dyn int list map null_type string timestamp type uint google optional_type contains "
    "endsWith getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth "
    "getSeconds matches size startsWith has all exists exists_one existsOne filter map true false null in "
    # extensions of cel-go, used by Kubernetes or not
    "charAt indexOf join lastIndexOf lowerAscii quote replace split substring trim upperAscii reverse format strings "
    "math greatest least abs bitAnd bitNot bitOr bitShiftLeft bitShiftRight bitXor ceil floor isFinite isInf isNaN "
    "round sign sqrt trunc sets equivalent intersects lists distinct flatten range slice sort sortBy first last "
    "base64 encode decode proto getExt hasExt regex extract extractAll cel bind block index transformList transformMap "
    "transformMapEntry optional none of ofNonZeroValue value hasValue or orValue optMap optFlatMap unwrap unwrapOpt "
    # Kubernetes' libraries
    "min max sum isSorted find findAll url isURL getEscapedPath getHost getHostname getPort getQuery getScheme "
    "quantity isQuantity add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan sub semver "
    "isSemver major minor patch ip isIP family isCanonical isGlobalUnicast isLinkLocalMulticast isLinkLocalUnicast "
    "isLoopback isUnspecified cidr isCIDR containsCIDR containsIP masked prefixLength validate named includes "
    "allowed check error errored fieldSelector group labelSelector name namespace path reason resource serviceAccount "
    "subresource authorizer dns1123Label jsonpatch escapeKey Object kubernetes net"
)
"""Names that some environment of Kubernetes, of any version, declares, or an extension of cel-go that it could use."""
_NAMES = frozenset(_ANYWHERE.split())


@cache
def refusal(expression: str) -> str:
    """Return why no API server takes a selector; empty if one may take it."""
    if _USUAL.fullmatch(expression) or not has_cel() or _ASKS_FOR_FIELD.search(expression):
        return ""
    from kubesched_lint.engine.model.devices.cel.environment import environments

    try:
        yielded = str(environments()[0].compile(expression).return_type())
    except RuntimeError as error:
        return next(_sure_errors(str(error), expression), "")
    if yielded in _NO_BOOLEANS:
        return f"must evaluate to bool or the unknown type, not {yielded.lower()}"
    return ""


def _sure_errors(text: str, expression: str) -> Iterator[str]:
    """Yield the errors of our compiler that every other one reports, too, without their positions."""
    for error_line in _ERROR.finditer(text):
        error = _sure(error_line[1].removesuffix(" [INVALID_ARGUMENT]"), expression)
        if error:
            yield f"compilation failed: {error}"


def _sure(error: str, expression: str) -> str:
    if error.startswith("Syntax error: "):
        return "" if "`" in expression else error.partition(" expecting {")[0]
    name = _UNKNOWN_NAME.match(error)
    if name:
        return "" if _MACRO.search(expression) else _no_such_name(*name[1].split("."))
    operands = _NO_OVERLOAD.match(error)
    return error if operands and _SIMPLE_TYPES.issuperset(operands[1].split(", ")) else ""


def _no_such_name(first: str, *fields: str) -> str:
    if first == "device":
        return f"undefined field '{fields[0]}'" if fields and fields[0] not in _FIELDS else ""
    return "" if first in _NAMES else f"undeclared reference to '{first}'"
