"""Count agreement for the recorded cases in files, and write our predictions to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any

from kubesched_lint.commands.verify.admission import verify_admission
from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.decisions import verify_decisions
from kubesched_lint.commands.verify.deployments import verify_deployment
from kubesched_lint.commands.verify.gangs import verify_gang
from kubesched_lint.commands.verify.lifecycle_sets import verify_lifecycle_both
from kubesched_lint.commands.verify.recordings import CaseError, kind_of, placed_cases
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.model.decode.fields import DecodeError

Judge = Callable[[Mapping[str, Any], Agreement, str | None], Iterator[dict[str, object]]]
"""Yields our predictions for a case as JSON objects, and adds the answers to the account."""


def judge_of(kind: str) -> Judge:
    """Return the judge for a kind of recording; imports no other."""
    match kind:
        case "deployments":
            return verify_deployment
        case "lifecycles":
            return verify_lifecycle_both
        case "admission":
            return verify_admission
        case "gangs":
            return verify_gang
    return verify_decisions


def verify_files(
    paths: Iterable[str], predictions: str | None = None, kubernetes_version: str | None = None
) -> list[Agreement]:
    """Return one account per kind of recording, in the order of the files. Raises CaseError."""
    accounts: dict[str, Agreement] = {}
    with ExitStack() as stack:
        file = None
        if predictions is not None:
            try:
                file = stack.enter_context(open(predictions, "w", encoding="utf-8"))
            except OSError as error:
                raise CaseError(f"{predictions}: {error.strerror}") from None
        for path in paths:
            for place, case in placed_cases(path):
                kind = kind_of(case, place)
                account = accounts.setdefault(kind, Agreement(kind))
                _verify(place, case, account, kubernetes_version, file)
    return list(accounts.values())


def _verify(place: str, case: Mapping[str, Any], account: Agreement, version: str | None, file: IO[str] | None) -> None:
    account.cases += 1
    try:
        for prediction in judge_of(account.kind)(case, account, version):
            if file is not None:
                file.write(json.dumps(prediction, ensure_ascii=False) + "\n")
    except (ClusterError, DecodeError, KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CaseError(f"{place}: case {case.get('id', '?')}: {what}") from error
