"""The connection to an API server: raw answers through the official client's connection, with retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, field
from urllib3 import Timeout
from urllib3 import exceptions as e
from urllib3.exceptions import HTTPError

from kubesched_lint.engine.cluster.limits import LARGEST_PAGE
from kubesched_lint.sources.capture.answers import (
    AnswerError,
    ApiAnswer,
    OverdueError,
    body_of,
    one_line,
    seconds_to_wait,
    within,
)

_ATTEMPTS = 4
_FIRST_PAUSE = 0.5
_LAST_PAUSE = 30.0
_CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
LIST_SECONDS = 600.0
_LISTS_TOGETHER = 3
_BUSY = frozenset([429, 500, 502, 503, 504])


class CaptureError(Exception):
    """A cluster cannot be captured; the text is one message for the user."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class Connection(Struct):
    """A connection to one API server.

    ``pool`` is urllib3's, with the certificates of the kubeconfig; ``headers`` is called for every request, because a
    token may be renewed. One answer must be complete within ``read_seconds``, a list with all its pages within
    ``list_seconds``, and all lists within three times that. ``sleep`` takes seconds.
    """

    host: str
    pool: Any
    headers: Callable[[], Mapping[str, str]]
    context: str = ""
    read_seconds: float = READ_SECONDS
    list_seconds: float = LIST_SECONDS
    sleep: Callable[[float], None] = time.sleep
    retried: list[str] = field(default_factory=list)
    """Failures that were retried."""

    _end: float = float("inf")

    def begin(self) -> None:
        """Start the clock: all lists must be complete within three times ``list_seconds`` from now."""
        self._end = time.monotonic() + _LISTS_TOGETHER * self.list_seconds

    def list_deadline(self) -> float:
        """Return the deadline of a list that begins now, to pass to ``get``."""
        return min(time.monotonic() + self.list_seconds, self._end)

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        largest: int = LARGEST_PAGE,
        deadline: float | None = None,
        patient: bool = False,
    ) -> ApiAnswer:
        """Return the answer of any status except 401. ``patient``: one answer may take as long as its whole list.

        Raises CaptureError after four failed attempts or at the deadline, AnswerError if the answer is too large.
        """
        pause = _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            left = self._left(path, deadline)
            try:
                answer, wait = self._in_time(path, query, largest, left if patient else min(left, self.read_seconds))
            except _FailedError as failure:
                self._left(path, deadline)
                if last or failure.final:
                    tried = f" ({attempt} attempts)" if attempt > 1 else ""
                    raise CaptureError(f"{self.host}: {failure}{tried}") from None
                self.retried.append(f"{path}: {failure}")
            else:
                if answer.status == 401:
                    raise self._refused()
                if answer.status not in _BUSY or last:
                    return answer
                self.retried.append(f"{path}: status {answer.status}")
                pause = max(pause, wait)
            self.sleep(min(pause, _LAST_PAUSE, self._left(path, deadline)))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _left(self, path: str, deadline: float | None) -> float:
        """Return the seconds until the deadline. Raises CaptureError after it."""
        left = self.list_seconds if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise CaptureError(
                f"{self.host}: {_last_of(path)} was not complete within {self.list_seconds:g} s (--list-timeout), "
                f"or all lists within {_LISTS_TOGETHER} times as long"
            )
        return left

    def _refused(self) -> CaptureError:
        whose = f"context {self.context}" if self.context else "the current context"
        return CaptureError(
            f"{self.host} does not accept the credentials of {whose} (401). Log in again; "
            "`kubectl auth whoami` shows who you are"
        )

    def _in_time(
        self, path: str, query: Mapping[str, str] | None, largest: int, seconds: float
    ) -> tuple[ApiAnswer, float]:
        """Return the answer and the seconds that the server asks to wait. Raises _FailedError, AnswerError."""
        try:
            return within(seconds, lambda: self._once(path, query, largest))
        except OverdueError:
            raise self._late(path) from None

    def _once(self, path: str, query: Mapping[str, str] | None, largest: int) -> tuple[ApiAnswer, float]:
        url = f"{self.host}{path}{f'?{urlencode(query)}' if query else ''}"
        response = None
        try:
            response = self.pool.request(
                "GET",
                url,
                headers=self._headers(),
                preload_content=False,
                # A redirect leads to an address that the kubeconfig does not name, even on the same host.
                redirect=False,
                retries=False,
                timeout=Timeout(connect=_CONNECT_SECONDS, read=self.read_seconds),
            )
            wait = seconds_to_wait(response.headers)
            if response.status != 200:
                response.close()  # the body of a refusal is not read
                return ApiAnswer(response.status, b""), wait
            body = body_of(response, largest)
            response.release_conn()
        except (HTTPError, OSError) as error:
            raise self._failure(path, error) from None
        except ValueError:  # the error's own text would contain the token
            raise _FailedError(
                "the address or the credentials contain characters that no request may have", final=True
            ) from None
        except AnswerError:
            if response is not None:
                response.close()
            raise
        return ApiAnswer(response.status, body), wait

    def _headers(self) -> Mapping[str, str]:
        return {"Accept": "application/json", "Accept-Encoding": "gzip", **self.headers()}

    def _late(self, path: str) -> _FailedError:
        return _FailedError(f"no answer for {_last_of(path)} within {self.read_seconds:g} s (--request-timeout)")

    def _failure(self, path: str, error: Exception) -> _FailedError:
        """Return the failure in words on which a user can act."""
        match error:
            case e.SSLError():
                return _FailedError(f"the TLS connection failed: {one_line(error)}", final=True)
            case e.NameResolutionError():
                return _FailedError(
                    "there is no such host; is the cluster of this context still there, and the VPN up?"
                )
            case e.NewConnectionError():
                return _FailedError("the connection was refused; is the API server running?")
            case e.ConnectTimeoutError():
                return _FailedError(f"no connection within {_CONNECT_SECONDS:.0f} s; is the VPN up?")
            case e.ReadTimeoutError():
                return self._late(path)
            case e.ProxyError():
                return _FailedError(f"the proxy failed: {one_line(error)}")
        return _FailedError(f"the connection broke while {_last_of(path)} was read: {_reason(error)}")


class _FailedError(Exception):
    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def _last_of(path: str) -> str:
    return path.rpartition("/")[2]


def _reason(error: Exception) -> str:
    return one_line(error.args[0]) if error.args else type(error).__name__
