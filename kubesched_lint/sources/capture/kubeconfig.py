"""Connect by a kubeconfig or by a pod's service account. Report first what the user should know about it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import urllib3
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from urllib3.util import Url, parse_url

from kubesched_lint.engine.base.text import closest
from kubesched_lint.sources.capture.answers import one_line
from kubesched_lint.sources.capture.connection import LIST_SECONDS, READ_SECONDS, CaptureError, Connection

Say = Callable[[str], None]
"""Receives one line that the user should see before a program runs or credentials are sent."""


def connect(
    context: str | None = None,
    *,
    read_seconds: float = READ_SECONDS,
    list_seconds: float = LIST_SECONDS,
    say: Say | None = None,
) -> Connection:
    """Return a connection by the kubeconfig as kubectl reads it, or inside a pod by its service account.

    ``say`` None: standard error. Raises CaptureError.
    """
    say = say or _to_standard_error
    settings = client.Configuration()
    source = _Source("the service account of the pod")
    try:
        if context is None and _is_inside():
            _config().load_incluster_config(client_configuration=settings)
        else:
            source = _load(settings, context, say)
        _say_of_the_way(settings, source, say)
        api = client.ApiClient(settings)
    except ConfigException as error:
        raise CaptureError(_no_config(context, error)) from None
    except CaptureError:
        raise
    except Exception as error:  # a malformed kubeconfig can raise any exception
        raise CaptureError(f"the kubeconfig cannot be read: {type(error).__name__}: {one_line(error)}") from None
    pool = api.rest_client.pool_manager
    _say_of_the_proxy(pool, source, say)

    def headers() -> Mapping[str, str]:
        try:
            with _logged():
                credentials: Any = settings.auth_settings().values()
        except Exception as error:  # the plugin is run again for an expired token, and can raise any exception
            raise CaptureError(f"no new credentials from {source.path}: {one_line(error)}") from None
        return {a["key"]: a["value"] for a in credentials if a["in"] == "header" and a["value"]}

    return Connection(str(settings.host).rstrip("/"), pool, headers, context or "", read_seconds, list_seconds)


class _Source:
    """The file that configures the connection to a cluster."""

    def __init__(self, path: str, *, own_proxy: bool = False) -> None:
        self.path = one_line(path)
        self.own_proxy = own_proxy


def _load(settings: Any, context: str | None, say: Say) -> _Source:
    """Load the kubeconfig into ``settings``.

    Raises ConfigException, CaptureError and whatever a malformed file causes.
    """
    kube = _config().kube_config
    for path in _kubeconfig().split(os.pathsep):
        if path and not os.path.isabs(os.path.expanduser(path)) and os.path.exists(path):
            say(f"the kubeconfig {one_line(path)} is taken from the working folder, because KUBECONFIG names it")
    files = kube.KubeConfigMerger(_kubeconfig())
    if files.config is None:
        raise ConfigException("Invalid kube-config file. No configuration found.")
    loader = kube.KubeConfigLoader(files.config, context, config_base_path=None, config_persister=files.save_changes)
    chosen = loader.current_context["context"]
    plugin = ""
    user = files.config["users"].get_with_name(chosen["user"], safe=True) if chosen.get("user") else None
    if user is not None and user.value.get("user"):
        plugin = _say_of_credentials(user.value["user"], one_line(user.path), say)
    with _logged() as messages:
        loader.load_and_set(settings)
    if messages and plugin and not settings.api_key and not settings.cert_file:
        raise CaptureError(f"{plugin} gives no credentials: {one_line(messages[-1])}")
    cluster = files.config["clusters"].get_with_name(chosen["cluster"])
    return _Source(cluster.path, own_proxy="proxy-url" in cluster.value["cluster"])


def _say_of_credentials(user: Mapping[str, Any], path: str, say: Say) -> str:
    """Report the program or address that supplies credentials; return its name for error messages."""
    if plugin := user.get("exec"):
        name = f"`{one_line(plugin.get('command'))}`"
        say(f"runs {name} for credentials, as the kubeconfig {path} says")
        return name
    provider = user.get("auth-provider")
    if not provider:
        return ""
    name, config = f"auth-provider {one_line(provider.get('name'))}", provider.get("config") or {}
    if command := config.get("cmd-path"):
        say(f"runs `{one_line(command)}` for credentials ({name}), as the kubeconfig {path} says")
    elif issuer := config.get("idp-issuer-url"):
        safe = any(key in config for key in ("idp-certificate-authority", "idp-certificate-authority-data"))
        how = "" if safe else ", and does not verify its certificate"
        say(f"asks {one_line(issuer)} for a new token when the old one is over{how}, as the kubeconfig {path} says")
    else:
        say(f"asks the {name} for credentials, as the kubeconfig {path} says")
    return name


def _say_of_the_way(settings: Any, source: _Source, say: Say) -> None:
    where = urlsplit(str(settings.host))
    if where.scheme == "https" and not settings.verify_ssl:
        say(
            f"warning: TLS is not verified (insecure-skip-tls-verify in {source.path}): anyone between here "
            f"and {one_line(where.netloc)} can take the credentials and answer in its place"
        )
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # one warning is enough
    if where.scheme == "http" and where.hostname not in ("127.0.0.1", "::1", "localhost"):
        say(f"warning: {one_line(where.netloc)} is asked without TLS ({source.path}): the credentials go in clear")
    if where.scheme == "https" and (keys := os.environ.get("SSLKEYLOGFILE")):
        say(f"warning: the keys of TLS connections are written to {one_line(keys)} (SSLKEYLOGFILE)")


def _say_of_the_proxy(pool: Any, source: _Source, say: Say) -> None:
    """Report the proxy without the user and password in its address."""
    proxy = getattr(pool, "proxy_url", None) or getattr(pool, "proxy", None)
    if proxy:
        address = parse_url(str(proxy))
        shown = Url(scheme=address.scheme, host=address.host, port=address.port).url
        whose = f"proxy-url in {source.path}" if source.own_proxy else "the environment: HTTPS_PROXY or similar"
        say(f"asks by the proxy {one_line(shown)} ({whose})")


def _to_standard_error(line: str) -> None:
    print(one_line(line), file=sys.stderr)


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collect the client's log lines: it logs the messages of credential plugins there."""
    messages: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    listener, root = Listener(), logging.getLogger()
    root.addHandler(listener)
    try:
        yield messages
    finally:
        root.removeHandler(listener)


def _config() -> Any:
    return config


def _kubeconfig() -> str:
    """Return the kubeconfig paths as kubectl reads them, separated by colons.

    The client reads KUBECONFIG only at import.
    """
    return os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")


def _is_inside() -> bool:
    """Return whether this runs in a pod and no kubeconfig is set."""
    if os.environ.get("KUBECONFIG") or os.path.exists(_kubeconfig()):
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _no_config(context: str | None, error: Exception) -> str:
    why = one_line(error)
    try:
        contexts, _ = _config().list_kube_config_contexts(_kubeconfig())
    except Exception:
        return f"no cluster to connect to: {why.rstrip('.')}. Set KUBECONFIG, or run inside a pod"
    names = [str(known.get("name")) for known in contexts]
    if context is None or context in names:
        return f"the kubeconfig cannot be used: {why}"
    near = closest(context, names)
    return f"there is no context `{one_line(context)}`" + (
        f": did you mean `{one_line(near)}`?"
        if near
        else f"; the kubeconfig has {one_line(', '.join(names)) or 'none'}"
    )
