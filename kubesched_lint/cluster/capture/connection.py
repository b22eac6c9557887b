"""One way to ask an API server: raw answers over the official client's connection, tried again when that may help."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubesched_lint.record import record

_ATTEMPTS = 4
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
_BUSY = frozenset([429, 500, 502, 503, 504])


class CaptureError(Exception):
    """Why a cluster cannot be captured, as one message for the user."""


@record
class Answer:
    status: int
    body: bytes


@dataclass
class Connection:
    """``pool`` is urllib3's, with the certificates of the kubeconfig; ``headers`` are asked for at every request, as
    a token may have been renewed. ``sleep`` takes seconds.
    """

    host: str
    pool: Any
    headers: Callable[[], Mapping[str, str]]
    context: str = ""
    read_seconds: float = READ_SECONDS
    sleep: Callable[[float], None] = time.sleep
    retried: list[str] = field(default_factory=list)
    """What went wrong and was tried again."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """The answer, whatever its status but 401. Raises CaptureError when there is none after four attempts."""
        pause = _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                answer, wait = self._once(path, query)
            except _FailedError as failure:
                if last or failure.final:
                    tried = f" ({attempt} attempts)" if attempt > 1 else ""
                    raise CaptureError(f"{self.host}: {failure}{tried}") from None
                self.retried.append(f"{path}: {failure}")
            else:
                if answer.status == 401:
                    whose = f"context {self.context}" if self.context else "the current context"
                    raise CaptureError(
                        f"{self.host} does not accept the credentials of {whose} (401). Log in again; "
                        "`kubectl auth whoami` tells who you are"
                    )
                if answer.status not in _BUSY or last:
                    return answer
                self.retried.append(f"{path}: status {answer.status}")
                pause = max(pause, wait)
            self.sleep(min(pause, _LONGEST_PAUSE))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _once(self, path: str, query: Mapping[str, str] | None) -> tuple[Answer, float]:
        """The answer, and for how many seconds the server asks to be left alone. Raises _FailedError."""
        from urllib.parse import urlencode

        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError

        url = f"{self.host}{path}{f'?{urlencode(query)}' if query else ''}"
        try:
            response = self.pool.request(
                "GET",
                url,
                headers=self._headers(),
                preload_content=False,
                retries=False,
                timeout=Timeout(connect=_CONNECT_SECONDS, read=self.read_seconds),
            )
            try:
                body = response.read(decode_content=True)
            finally:
                response.release_conn()
        except (HTTPError, OSError) as error:
            raise self._failure(path, error) from None
        wait = response.headers.get("Retry-After", "")
        return Answer(response.status, body), float(wait) if wait.isdigit() else 0.0

    def _headers(self) -> Mapping[str, str]:
        return {"Accept": "application/json", "Accept-Encoding": "gzip", **self.headers()}

    def _failure(self, path: str, error: Exception) -> _FailedError:
        """In words a person can act on."""
        from urllib3 import exceptions as e

        what = path.rpartition("/")[2]
        match error:
            case e.SSLError():
                return _FailedError(f"the TLS connection failed: {error}", final=True)
            case e.NameResolutionError():
                return _FailedError(
                    "there is no such host; is the cluster of this context still there, and the VPN up?"
                )
            case e.NewConnectionError():
                return _FailedError("the connection was refused; is the API server running?")
            case e.ConnectTimeoutError():
                return _FailedError(f"no connection within {_CONNECT_SECONDS:.0f} s; is the VPN up?")
            case e.ReadTimeoutError():
                return _FailedError(f"no answer for {what} within {self.read_seconds:g} s (--request-timeout)")
            case e.ProxyError():
                return _FailedError(f"the proxy failed: {error}")
        return _FailedError(f"the connection broke while {what} was read: {_reason(error)}")


class _FailedError(Exception):
    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def _reason(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


def connect(context: str | None = None, *, read_seconds: float = READ_SECONDS) -> Connection:
    """By the kubeconfig as kubectl reads it, or inside a pod by its service account. Raises CaptureError."""
    from kubernetes import client
    from kubernetes.config.config_exception import ConfigException

    config = _config()
    settings = client.Configuration()
    try:
        if context is None and _is_inside():
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(_kubeconfig(), context=context, client_configuration=settings)
    except ConfigException as error:
        raise CaptureError(_no_config(context, error)) from None
    except Exception as error:  # a kubeconfig with a wrong shape raises whatever its reader trips over
        raise CaptureError(f"the kubeconfig cannot be read: {type(error).__name__}: {error}") from None
    api = client.ApiClient(settings)

    def headers() -> Mapping[str, str]:
        found: Any = settings.auth_settings().values()
        return {a["key"]: a["value"] for a in found if a["in"] == "header" and a["value"]}

    host = str(settings.host).rstrip("/")
    return Connection(host, api.rest_client.pool_manager, headers, context or "", read_seconds)


def _config() -> Any:
    from kubernetes import config

    return config


def _kubeconfig() -> str:
    """Files as kubectl takes them, parted by colons; the client asks the environment only when it is imported."""
    import os

    return os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")


def _is_inside() -> bool:
    """Whether this runs in a pod and nobody has set a kubeconfig."""
    import os

    if os.environ.get("KUBECONFIG") or os.path.exists(_kubeconfig()):
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _no_config(context: str | None, error: Exception) -> str:
    try:
        contexts, _ = _config().list_kube_config_contexts(_kubeconfig())
    except Exception:
        return f"no cluster to talk to: {str(error).rstrip('.')}. Set KUBECONFIG, or run inside a pod"
    names = [str(known.get("name")) for known in contexts]
    if context is None or context in names:
        return f"the kubeconfig does not do: {error}"
    from difflib import get_close_matches

    near = get_close_matches(context, names, 1)
    return f"there is no context `{context}`" + (
        f": did you mean `{near[0]}`?" if near else f"; the kubeconfig has {', '.join(names) or 'none'}"
    )
