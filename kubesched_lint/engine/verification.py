"""Recorded cases from files to accounts, and our predictions to a file as they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any

from kubesched_lint.engine.cases import ADMISSION, DECISIONS, LIFECYCLES, PREEMPTION, CaseError, kind_of, read_cases
from kubesched_lint.engine.lifecycles import verify_lifecycle
from kubesched_lint.engine.verify import Agreement, verify_admission, verify_decisions
from kubesched_lint.model.decode.fields import DecodeError

Judge = Callable[[Mapping[str, Any], Agreement, str | None], Iterator[dict[str, object]]]
"""Yields our predictions for a case as JSON objects, and notes in the account how they agree with its records."""

_JUDGES: Mapping[str, Judge] = {
    DECISIONS: verify_decisions,
    PREEMPTION: verify_decisions,
    ADMISSION: verify_admission,
    LIFECYCLES: verify_lifecycle,
}


def verify_files(
    paths: Iterable[str], predictions: str | None = None, kubernetes_version: str | None = None
) -> list[Agreement]:
    """One account per kind of recording, in the order met. Raises CaseError."""
    accounts: dict[str, Agreement] = {}
    with ExitStack() as stack:
        file = None
        if predictions is not None:
            try:
                file = stack.enter_context(open(predictions, "w", encoding="utf-8"))
            except OSError as error:
                raise CaseError(f"{predictions}: {error.strerror}") from None
        for path in paths:
            for case in read_cases(path):
                kind = kind_of(case)
                account = accounts.setdefault(kind, Agreement(kind))
                _verify(path, case, account, kubernetes_version, file)
    return list(accounts.values())


def _verify(path: str, case: Mapping[str, Any], account: Agreement, version: str | None, file: IO[str] | None) -> None:
    account.cases += 1
    judge = _JUDGES.get(account.kind)
    if judge is None:
        account.skipped += 1
        return
    try:
        for prediction in judge(case, account, version):
            if file is not None:
                file.write(json.dumps(prediction, ensure_ascii=False) + "\n")
    except (DecodeError, KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CaseError(f"{path}: case {case.get('id', '?')}: {what}") from error
