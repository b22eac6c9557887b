"""What a kubeconfig makes us do is said first: programs it runs, TLS that it switches off, ways it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.sources.capture import CaptureError, capture, connect
from tests.capture.stand_in import TOKEN, ApiServer
from tests.program import called

ROOT = Path(__file__).parents[2]
NOW = "2026-11-21T04:00:00Z"
CREDENTIAL = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": TOKEN}}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.close()


def written(
    file: Path, monkeypatch: pytest.MonkeyPatch, *, user: Any = None, cluster: Any = None, server: str = ""
) -> Path:
    parts = {
        "clusters": [{"name": "c", "cluster": {"server": server or "https://127.0.0.1:1", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


def said(**settings: Any) -> list[str]:
    lines: list[str] = []
    connect(say=lines.append, **settings)
    assert all(line.isprintable() for line in lines)
    return lines


def plugin(folder: Path, text: str) -> str:
    script = folder / "plugin.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return str(script)


def execed(command: str) -> dict[str, Any]:
    return {
        "exec": {
            "apiVersion": CREDENTIAL["apiVersion"],
            "command": command,
            "args": ["--client-secret=hunter2"],
            "interactiveMode": "Never",
        }
    }


def test_an_ordinary_kubeconfig_needs_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> None:
    written(tmp_path / "config", monkeypatch, server=api.url)
    assert said() == []
    written(tmp_path / "config", monkeypatch)
    assert said() == []


def test_a_plugin_is_named_before_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> None:
    ran = tmp_path / "ran"
    command = plugin(tmp_path, f"touch {ran}\necho '{json.dumps(CREDENTIAL)}'")
    file = written(tmp_path / "config", monkeypatch, user=execed(command), server=api.url)
    lines: list[str] = []

    def say(line: str) -> None:
        assert not ran.exists(), "it is said first"
        lines.append(line)

    found = capture(connect(say=say), NOW)
    assert found.counts["Node"] == 60
    assert ran.exists()
    assert lines == [f"runs `{command}` for credentials, as the kubeconfig {file} says"]


def test_the_command_line_says_it_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: ApiServer
) -> None:
    command = plugin(tmp_path, f"echo '{json.dumps(CREDENTIAL)}'")
    written(tmp_path / "config", monkeypatch, user=execed(command), server=api.url)
    for args in (["snapshot", "-o", "-"], ["lint", str(ROOT / "fixtures/shop"), "-c", "live", "-f", "json"]):
        done = called(*args, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        assert f"runs `{command}` for credentials" in done.stderr
        assert "runs `" not in done.stdout
        json.loads(done.stdout)


@pytest.mark.parametrize(
    "text",
    [
        "printf 'bad\\n::error::x\\033[2J' >&2; exit 3",
        "echo no json",
        "echo '{}'",
        "echo '[]'",
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":7}\'',
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}\'',
        "head -c 300000 /dev/zero | tr '\\0' '['",
    ],
)
def test_a_plugin_that_fails_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    written(tmp_path / "config", monkeypatch, user=execed(plugin(tmp_path, text)))
    with pytest.raises(CaptureError, match=r"plugin\.sh` gives no credentials: ") as caught:
        said()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert "hunter2" not in str(caught.value)
    assert capfd.readouterr() == ("", ""), "the client logs nothing past us"


def test_a_plugin_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "config", monkeypatch, user=execed("./no-such-plugin"))
    with pytest.raises(CaptureError, match=r"`\./no-such-plugin` gives no credentials"):
        said()


def test_an_auth_provider_is_named_before_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = tmp_path / "ran"
    command = plugin(tmp_path, f"touch {ran}\nexit 1")
    user = {"auth-provider": {"name": "gcp", "config": {"cmd-path": command, "expiry": "2001-01-01T00:00:00Z"}}}
    file = written(tmp_path / "config", monkeypatch, user=user)
    lines: list[str] = []
    with pytest.raises(CaptureError):
        connect(say=lambda line: lines.append(f"{ran.exists()} {line}"))
    assert lines[0] == f"False runs `{command}` for credentials (auth-provider gcp), as the kubeconfig {file} says"


def test_an_issuer_whose_certificate_nobody_verifies_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"idp-issuer-url": "https://idp.example.com", "id-token": "no-token"}
    user = {"auth-provider": {"name": "oidc", "config": config}}
    written(tmp_path / "config", monkeypatch, user=user)
    (line,) = said()
    assert "asks https://idp.example.com for a new token" in line
    assert "does not verify its certificate" in line


def test_tls_that_is_not_verified_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    file = written(tmp_path / "config", monkeypatch, cluster={"insecure-skip-tls-verify": True})
    (line,) = said()
    assert line.startswith(f"warning: TLS is not verified (insecure-skip-tls-verify in {file}): ")


@pytest.mark.parametrize("host", ["http://api.example.com", "http://10.0.0.1:8080"])
def test_a_server_without_tls_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    written(tmp_path / "config", monkeypatch, server=host)
    (line,) = said()
    assert "is asked without TLS" in line


def test_a_kubeconfig_of_the_working_folder_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "config", monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "config")
    assert said() == ["the kubeconfig config is taken from the working folder, because KUBECONFIG names it"]
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:sub/../config:{tmp_path}/config")
    (tmp_path / "sub").mkdir()
    assert len(said()) == 1
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/config")
    assert said() == []


def test_a_proxy_is_said_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "config", monkeypatch, cluster={"proxy-url": "http://me:hunter2@proxy.example.com:3128"})
    assert said() == [f"asks by the proxy http://proxy.example.com:3128 (proxy-url in {file})"]
    written(tmp_path / "config", monkeypatch)
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hunter2@127.0.0.1:9")
    assert said() == ["asks by the proxy http://127.0.0.1:9 (the environment: HTTPS_PROXY or similar)"]
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert said() == [], "it is not used"


def test_keys_that_are_written_down_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "config", monkeypatch)
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    (line,) = said()
    assert line.endswith(f"are written to {tmp_path}/keys (SSLKEYLOGFILE)")


def test_words_of_a_kubeconfig_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "x\n::error::owned\x1b[2J" + "y" * 5000
    written(tmp_path / "config", monkeypatch, user=execed(hostile))
    lines: list[str] = []
    with pytest.raises(CaptureError) as caught:
        connect(say=lines.append)
    for line in (*lines, str(caught.value)):
        assert line.isprintable()
        assert len(line) < 900


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(9)),
        "users: 7\ncontexts: [7]\nclusters: {}",
        '{"current-context": "here", "contexts": [{"name": "here", "context": "x"}]}',
        "!!python/object/apply:os.system ['touch ran']",
        "current-context: 1e999\ncontexts:\n- name: .nan\n",
    ],
)
def test_a_kubeconfig_of_any_shape_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaptureError) as caught:
        connect()
    assert str(caught.value).isprintable()
    assert not (tmp_path / "ran").exists()


def test_a_repository_cannot_have_a_live_cluster_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes kubesched.toml would have the plugin of somebody's kubeconfig run."""
    ran = tmp_path / "ran"
    written(tmp_path / "config", monkeypatch, user=execed(plugin(tmp_path, f"touch {ran}")))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "kubesched.toml").write_text('cluster = "live:here"\n')
    (tree / "a.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    done = called("lint", ".", cwd=tree)
    assert done.returncode == 2
    assert not ran.exists()
