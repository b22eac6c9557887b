"""A server that answers as no API server does: every run ends, says what is wrong in one line and by its exit code."""

from __future__ import annotations

import gzip
import json
import os
import resource
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.sources.capture import CaptureError, Connection, Snapshot, capture, connect
from kubesched_lint.sources.capture.answers import one_line, seconds_to_wait
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster
from tests.capture.stand_in import TOKEN, ApiServer, Handler, fine, says, status
from tests.program import called

ROOT = Path(__file__).parents[2]
NOW = "2026-11-21T04:00:00Z"
PODS, NODES, APIS, VERSION = "/api/v1/pods", "/api/v1/nodes", "/apis", "/version"
HOSTILE = "evil\n::error::owned\r\x1b[2J\u202e##[command]rm\u2028end"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    server = ApiServer()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, server.url)))
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands sleep in earnest before they try again."""
    monkeypatch.setattr("kubesched_lint.sources.capture.connection._FIRST_PAUSE", 0.01)


def kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": url}}
    user = {"name": "u", "user": {"token": TOKEN}}
    context = {"name": "here", "context": {"cluster": "c", "user": "u"}}
    parts = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "here"}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}))
    return file


def patient(**settings: float) -> tuple[Connection, list[float]]:
    """A connection that does not really sleep, and how long it would have."""
    naps: list[float] = []
    connection = connect(**settings)  # type: ignore[arg-type]
    connection.sleep = naps.append
    return connection, naps


def captured(page: int = 50, **settings: float) -> Snapshot:
    return capture(patient(**settings)[0], NOW, page=page)


def complaints() -> tuple[str, ...]:
    """What is said of a cluster: its failures, or why there is no snapshot at all."""
    try:
        return captured().failures
    except CaptureError as error:
        return (str(error),)


def run(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=cwd, as_patched=True)


def one_plain_line(text: str) -> bool:
    return text.isprintable() and len(text) < 600


# --- bytes --------------------------------------------------------------------------------------------------------


def bomb(mebibytes: int, encoding: str = "gzip") -> Callable[[Handler], bool]:
    """A list that is almost nothing on the wire."""
    node = json.dumps({"metadata": {"name": "n", "annotations": {"x": "a" * 4000}}, "spec": {}}).encode() + b","
    plain = b'{"items":[' + node * ((mebibytes << 20) // len(node)) + node[:-1] + b"]}"
    data = gzip.compress(plain, 1)

    def fault(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Encoding", encoding)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        return True

    return fault


def test_an_answer_that_unpacks_without_end_is_a_gap_and_is_not_held(api: ApiServer) -> None:
    api.fails(PODS, bomb(150))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = captured()
    assert found.failures == found.gaps
    (gap,) = found.gaps
    assert gap.startswith("pods: the answer unpacks to more than 64 MiB")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 << 10


def test_a_page_that_is_merely_large_is_refused_too(api: ApiServer) -> None:
    chunk = os.urandom(1 << 20)

    def fault(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(200 << 20))
        handler.end_headers()
        try:
            for _ in range(200):
                handler.wfile.write(chunk)
        except OSError:  # nobody listens any more: as it should be
            handler.close_connection = True
        return True

    api.fails(PODS, fault)
    assert captured().failures == ("pods: the answer holds more than 128 MiB",)


@pytest.mark.parametrize(("path", "words"), [(VERSION, "for /version unpacks"), (APIS, "for /apis unpacks")])
def test_discovery_has_a_limit_too(api: ApiServer, path: str, words: str) -> None:
    api.fails(path, bomb(130))
    with pytest.raises(CaptureError, match=f"the answer {words} to more than 64 MiB"):
        captured()


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "\x1b[2J"])
def test_an_encoding_that_nobody_asked_for_is_a_gap(api: ApiServer, encoding: str) -> None:
    api.fails(PODS, bomb(1, encoding))
    (gap,) = captured().failures
    assert gap.startswith("pods: the answer has an encoding that was not requested")
    assert one_plain_line(gap)


def test_gzip_that_is_none(api: ApiServer) -> None:
    def fault(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", "4")
        handler.end_headers()
        handler.wfile.write(b"abcd")
        return True

    api.fails(PODS, fault)
    (gap,) = captured().failures
    assert gap.startswith("pods: the answer is not sound gzip")


@pytest.mark.parametrize(
    ("nodes", "padding", "words"), [(160_000, 600, "holds more than 150,000 nodes"), (90_000, 3000, "unpacks to more")]
)
def test_a_cluster_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, nodes: int, padding: int, words: str
) -> None:
    """The recorded attack was 1.9 MB of gzip that holds 286 MiB of nodes: half a minute of CPU."""
    note = b"a" * padding
    with gzip.open(tmp_path / "c.json.gz", "wb", 1) as file:
        file.write(b'{"apiVersion":"v1","kind":"List","items":[\n')
        for i in range(nodes):
            file.write(
                b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d","annotations":{"x":"%b"}}},\n' % (i, note)
            )
        file.write(b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"last"}}]}')
    start = time.process_time()
    with pytest.raises(ClusterError, match=words):
        read_cluster(str(tmp_path / "c.json.gz"))
    assert time.process_time() - start < 10


def test_a_cluster_of_more_nodes_than_any_has_is_refused() -> None:
    """Each has its own name, so that they pack as badly as a real cluster does."""
    head = b'{"apiVersion":"v1","kind":"List","items":[\n'
    data = head + b",\n".join(
        b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"}}' % i for i in range(150_001)
    )
    with pytest.raises(ClusterError, match="more than 150,000 nodes"):
        cluster_from([("c.json", data + b"]}")], "c.json")


# --- pages --------------------------------------------------------------------------------------------------------


def page(token: str, *items: Any, **more: Any) -> Callable[[Handler], bool]:
    return says(json.dumps({"metadata": {"continue": token, **more}, "items": list(items)}))


def test_the_same_token_twice_is_an_error(api: ApiServer) -> None:
    api.fails(PODS, *[page("again")] * 5)
    assert captured().failures == ("pods: the server sends the same continue token twice",)
    assert len(api.asked("pods")) == 2


def test_a_circle_of_tokens_is_an_error(api: ApiServer) -> None:
    api.fails(PODS, *[page(t) for t in "abcabcabc"])
    assert captured().failures == ("pods: the server sends the same continue token twice",)
    assert len(api.asked("pods")) == 4


def test_pages_have_an_end(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_lint.sources.capture.lists.MOST_PAGES", 20)
    api.fails(PODS, *[page(f"t{i}") for i in range(100)])
    assert captured().failures == ("pods: the list has more than 20 pages",)
    assert len(api.asked("pods")) == 20


def test_a_token_is_no_novel(api: ApiServer) -> None:
    api.fails(PODS, page("x" * 5000))
    assert captured().failures == ("pods: the server sends a continue token of 5,000 characters",)


def test_an_expired_list_in_the_middle_begins_anew_and_no_item_is_there_twice(api: ApiServer) -> None:
    api.fails(PODS, fine, fine, status(410))
    found = captured()
    assert (found.counts["Pod"], found.failures) == (199, ())


@pytest.mark.parametrize("remaining", [-5, 10**18])
def test_a_strange_count_of_the_rest_does_no_harm(api: ApiServer, remaining: int) -> None:
    api.fails(PODS, page("", remainingItemCount=remaining))
    shown: list[tuple[int, int]] = []
    capture(patient()[0], NOW, progress=lambda plural, count, total: shown.append((count, total)))
    assert all(0 <= count <= total for count, total in shown)


# --- time ---------------------------------------------------------------------------------------------------------


def drip(head: bytes, seconds: float) -> Callable[[Handler], bool]:
    """Sends a byte now and then: no read ever waits long."""

    def fault(handler: Handler) -> bool:
        end = time.monotonic() + seconds
        try:
            handler.wfile.write(head)
            while time.monotonic() < end:
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
        handler.close_connection = True
        return True

    return fault


IN_THE_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
IN_THE_HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: "


@pytest.mark.parametrize("head", [IN_THE_BODY, IN_THE_HEAD, b"HTTP/1.1 "])
def test_an_answer_has_its_time_and_not_each_byte(api: ApiServer, head: bytes) -> None:
    api.fails(PODS, *[drip(head, 20)] * 4)
    start = time.monotonic()
    with pytest.raises(CaptureError, match=r"no answer for pods within 0.3 s \(--request-timeout\) \(4 attempts\)"):
        captured(read_seconds=0.3)
    assert time.monotonic() - start < 10


def test_a_list_has_its_time_and_not_each_page(api: ApiServer) -> None:
    def slow(number: int) -> Callable[[Handler], bool]:
        def fault(handler: Handler) -> bool:
            time.sleep(0.2)
            return page(f"t{number}")(handler)

        return fault

    api.fails(PODS, *[slow(i) for i in range(100)])
    start = time.monotonic()
    with pytest.raises(CaptureError, match=r"pods was not complete within 1 s \(--list-timeout\)"):
        captured(list_seconds=1.0)
    assert time.monotonic() - start < 10
    assert len(api.asked("pods")) <= 6


def test_lists_that_are_all_slow_are_too_slow_together(api: ApiServer) -> None:
    def slow(handler: Handler) -> bool:
        time.sleep(0.3)
        return False

    for plural in ("nodes", "pods", "namespaces", "services", "limitranges", "resourcequotas", "persistentvolumes"):
        api.fails(f"/api/v1/{plural}", slow)
    start = time.monotonic()
    with pytest.raises(CaptureError, match="or all lists within 3 times as long"):
        captured(page=500, list_seconds=0.5)
    assert time.monotonic() - start < 10


def test_naps_end_with_the_list(api: ApiServer) -> None:
    api.fails(PODS, *[status(503, "", Retry_After="25")] * 4)
    connection, naps = patient(list_seconds=3.0)
    capture(connection, NOW)
    assert naps
    assert max(naps) <= 3.0


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("999999999", 3600, 3600),
        ("9" * 5000, 0, 0),
        ("-1", 0, 0),
        ("1e9", 0, 0),
        ("inf", 0, 0),
        ("nan", 0, 0),
        ("²", 0, 0),
        ("٣", 0, 0),
        ("", 0, 0),
        ("soon", 0, 0),
        ("7, 8", 0, 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("Wed, 99 Foo 9999 99:99:99 GMT", 0, 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600, 3600),
        (":" * 40, 0, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(text: str, least: float, most: float) -> None:
    assert least <= seconds_to_wait({"Retry-After": text}) <= most


def test_retry_after_may_be_a_date_to_come() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 30 <= seconds_to_wait({"Retry-After": soon}) <= 60


@pytest.mark.parametrize("text", ["99999999", "Fri, 31 Dec 9999 23:59:59 GMT", "²", "-5", "9" * 400])
def test_no_server_makes_us_wait_for_long(api: ApiServer, text: str) -> None:
    def fault(handler: Handler) -> bool:
        handler.send_response(429)
        handler.send_header("Retry-After", text)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    api.fails(PODS, fault)
    connection, naps = patient()
    assert capture(connection, NOW).counts["Pod"] == 199
    assert len(naps) == 1
    assert 0 <= naps[0] <= 30


# --- what it says -------------------------------------------------------------------------------------------------

DEEP = '{"items":[{"metadata":{},"spec":{},"x":' + "[" * 100_000 + "]" * 100_000 + "}]}"
POD = '{"items":[{"metadata":%s,"spec":%s}]}'


@pytest.mark.parametrize(
    "answer",
    [
        DEEP,
        "[" * 100_000,
        '{"metadata":' + '{"a":' * 100_000,
        POD % ('{"name":NaN}', "{}"),
        POD % ('{"name":"\\ud800"}', "{}"),
        POD % ("{}", '{"priority":1e400}'),
        POD % ("{}", '{"priority":%s}' % ("9" * 5000)),
        POD % ("{}", '{"overhead":{"cpu":Infinity}}'),
        POD % ("[]", "{}"),
        POD % ('"x"', "{}"),
        POD % ('{"labels":{"a":7}}', "{}"),
        POD % ('{"labels":["a"]}', "{}"),
        '{"items":[null]}',
        '{"items":{}}',
        '{"metadata":{"continue":7},"items":[]}',
        '{"metadata":{"continue":{}},"items":[]}',
        "\x00",
        "",
        "true",
        '{"items":[]}{"items":[]}',
    ],
)
def test_json_of_any_kind_is_a_gap_that_counts_as_failure(api: ApiServer, answer: str) -> None:
    api.fails(PODS, says(answer))
    found = captured()
    (gap,) = found.failures
    assert gap.startswith("pods: the answer is not what the API promises: ")
    assert one_plain_line(gap)
    assert "Pod" not in found.metadata["kinds"]


def test_keys_that_are_there_twice_have_one_meaning_everywhere(api: ApiServer) -> None:
    """The last counts, as for Go's decoder, and the file holds only that one."""
    text = '{"items":[{"metadata":{"name":"first","name":"last"},"spec":{},"spec":{"nodeName":"n"}}]}'
    api.fails(PODS, says(text))
    found = captured()
    written = b"".join(found.pieces())
    assert b"first" not in written
    assert [(p.name, p.node) for p in found.cluster("c").inventory.pods] == [("last", "n")]


@pytest.mark.parametrize("path", [VERSION, APIS])
@pytest.mark.parametrize("answer", ["[" * 100_000, '{"gitVersion":7,"groups":7}', "null", HOSTILE, "\x00\xff"])
def test_discovery_of_any_kind(api: ApiServer, path: str, answer: str) -> None:
    api.fails(path, says(answer))
    assert all(map(one_plain_line, complaints()))


def test_a_version_that_is_none_is_not_passed_on(api: ApiServer) -> None:
    api.fails(VERSION, says(json.dumps({"gitVersion": HOSTILE})))
    assert captured().metadata["kubernetesVersion"] == ""


def test_versions_of_groups_are_shown_in_one_line(api: ApiServer) -> None:
    groups = [{"name": "apps", "versions": [{"version": HOSTILE * 50}]}]
    api.fails(APIS, says(json.dumps({"groups": groups})))
    gaps = [gap for gap in captured().gaps if "only as" in gap]
    assert gaps
    assert all(map(one_plain_line, gaps))


def test_what_is_no_http_is_one_message(api: ApiServer) -> None:
    def fault(handler: Handler) -> bool:
        handler.wfile.write(HOSTILE.encode() * 20 + b"\r\n\r\n")
        handler.close_connection = True
        return True

    api.fails(PODS, *[fault] * 4)
    with pytest.raises(CaptureError) as caught:
        captured()
    assert one_plain_line(str(caught.value))


def test_names_with_line_breaks_stay_names(api: ApiServer, tmp_path: Path) -> None:
    """A snapshot is cut at its lines; nothing that a tenant writes makes one."""
    item = {"metadata": {"name": HOSTILE, "namespace": "a\n},\n{"}, "spec": {"nodeName": '"items":[\n'}}
    api.fails(PODS, page("", item))
    found = captured()
    found.write(str(tmp_path / "c.json"))
    (pod,) = read_cluster(str(tmp_path / "c.json")).inventory.pods
    assert (pod.name, pod.pod.namespace, pod.node) == (HOSTILE, "a\n},\n{", '"items":[\n')


def test_one_line_of_anything() -> None:
    assert one_line("a\n\n b\x1b[0m\u202ec") == "a b [0m c"
    assert len(one_line("x" * 10_000_000)) == LONGEST_REASON
    assert one_line(None) == "None"


# --- where it sends us --------------------------------------------------------------------------------------------


@pytest.fixture
def other() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Another host, and the headers of whoever comes."""
    met: list[dict[str, str]] = []

    class Catch(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            met.append(dict(self.headers.items()))
            self.send_response(200)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Catch)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", met
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("path", [VERSION, APIS, NODES, PODS])
def test_nobody_follows(api: ApiServer, other: tuple[str, list[dict[str, str]]], path: str, code: int) -> None:
    url, met = other
    api.fails(path, status(code, "", Location=f"{url}{path}"))
    (complaint,) = complaints()
    assert f"redirects ({code}), which is not followed" in complaint
    assert not met


def test_nobody_follows_within_a_host_either(api: ApiServer) -> None:
    api.fails(PODS, status(302, "", Location="/api/v1/secrets"))
    assert captured().failures
    assert not api.asked("secrets")


# --- the exit code ------------------------------------------------------------------------------------------------


def test_a_list_that_the_server_fails_to_give_is_exit_2_and_leaves_the_old_file(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("old")
    api.fails(PODS, *[status(500, "", Retry_After="0")] * 4)
    done = run("snapshot", "-o", "c.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "missing: pods: the server failed (500)",
        "error: the API server failed, so nothing is written; --allow-gaps writes the rest",
    ]
    assert (tmp_path / "c.json").read_text() == "old"


def test_gaps_can_be_allowed(api: ApiServer, tmp_path: Path) -> None:
    api.fails(PODS, *[status(503)] * 4)
    done = run("snapshot", "-o", "c.json", "--allow-gaps", cwd=tmp_path)
    assert done.returncode == 0
    assert "missing: pods: the server failed (503)" in done.stderr
    assert json.loads((tmp_path / "c.json").read_text())["metadata"]["gaps"] == ["pods: the server failed (503)"]


def test_without_nodes_nothing_allows(api: ApiServer, tmp_path: Path) -> None:
    api.fails(NODES, *[status(503)] * 4)
    done = run("snapshot", "-o", "c.json", "--allow-gaps", cwd=tmp_path)
    assert done.returncode == 2
    assert not (tmp_path / "c.json").exists()


def test_what_is_forbidden_is_no_failure(api: ApiServer, tmp_path: Path) -> None:
    api.fails("/api/v1/persistentvolumes", status(403))
    assert run("snapshot", "-o", "c.json", cwd=tmp_path).returncode == 0


def test_a_live_cluster_that_fails_is_exit_2(api: ApiServer, tmp_path: Path) -> None:
    api.fails(PODS, *[status(500, "", Retry_After="0")] * 4)
    done = run("lint", str(ROOT / "fixtures/shop"), "-c", "live", cwd=tmp_path)
    assert done.returncode == 2
    assert "pods: the server failed (500). `kubesched-lint snapshot --allow-gaps` makes a file without that" in (
        done.stdout + done.stderr
    )
    assert "Traceback" not in done.stderr


# --- credentials --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["a\nX-Injected: 1", "a\r\n\r\nGET /", "ключ", "a\x00b"])
def test_credentials_that_are_no_header_are_never_shown(api: ApiServer, tmp_path: Path, token: str) -> None:
    file = kubeconfig(tmp_path, api.url)
    config = json.loads(file.read_text())
    config["users"][0]["user"]["token"] = token
    file.write_text(json.dumps(config))
    with pytest.raises(CaptureError) as caught:
        captured()
    assert "credentials" in str(caught.value)
    assert token[:3] not in str(caught.value)
    assert not any("x-injected" in headers for headers in api.headers)


def test_a_certificate_that_is_not_trusted_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("there is no openssl")
    server = ApiServer()
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, url)))
        with pytest.raises(CaptureError, match="the TLS connection failed") as caught:
            captured()
        assert one_plain_line(str(caught.value))
        assert not server.requests
    finally:
        server.close()
