"""What workers bring back is data or nothing, what they raise ends nobody, and nothing listens here."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubesched_lint.commands.fleet import executors
from kubesched_lint.commands.fleet import judge as module
from kubesched_lint.commands.fleet.executors import RemoteWorkers, TaskExecutor, executor_of
from kubesched_lint.commands.fleet.judge import PairOutcome, judge_as_data, judge_task
from kubesched_lint.commands.fleet.plan import FleetError
from kubesched_lint.commands.fleet.tasks import Task
from kubesched_lint.findings import Report
from tests.fleet.judging import on_clusters

ROOT = Path(__file__).parents[2]
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {a: b}, containers: [{name: c, image: i}]}\n"
)
SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: w, zones: [a]}]\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "pod.yaml").write_text(POD)
    for name in ("one", "two"):
        (tmp_path / "clusters" / f"{name}.yaml").write_text(SKETCH)
    return tmp_path


class Worker(Executor):
    """A remote worker that brings back, or raises, whatever it likes."""

    def __init__(self, act: Callable[[Callable[[Task], bytes], Task], object]) -> None:
        self._act = act

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        assert fn is judge_as_data
        future: Future[Any] = Future()
        try:
            future.set_result(self._act(fn, args[0]))
        except BaseException as error:
            future.set_exception(error)
        return future


def run(place: Path, executor: TaskExecutor | None) -> tuple[list[str], tuple[PairOutcome, ...]]:
    reasons: list[str] = []
    done = on_clusters(str(place / "pod.yaml"), str(place / "clusters"), executor, reasons.append)
    return reasons, done.outcomes


def raising(error: BaseException) -> Callable[[Any, Task], object]:
    def act(honest: Any, work: Task) -> object:
        raise error

    return act


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_an_honest_worker_is_believed(place: Path) -> None:
    _, alone = run(place, None)
    reasons, outcomes = run(place, RemoteWorkers(Worker(lambda honest, work: honest(work)), 2))
    assert reasons == []
    assert outcomes == alone
    assert all(outcome.report.findings for outcome in outcomes)


def other_names(honest: Any, work: Task) -> bytes:
    found = msgspec.msgpack.decode(honest(work), type=tuple[PairOutcome, ...])
    return msgspec.msgpack.encode([PairOutcome("other", outcome.cluster, outcome.report) for outcome in found])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda honest, work: judge_task(work), "its result is not a report but a tuple"),
        (lambda honest, work: None, "its result is not a report but a NoneType"),
        (lambda honest, work: b"", "its result is not a report"),
        (lambda honest, work: honest(work)[:-20], "its result is not a report"),
        (lambda honest, work: honest(work) + b"\x00", "its result is not a report"),
        (lambda honest, work: msgspec.msgpack.encode([1, 2]), "its result is not a report"),
        (lambda honest, work: msgspec.msgpack.encode([{"name": "one", "cluster": "x", "report": {"findings": 3}}]),
         "its result is not a report"),
        (lambda honest, work: b"\x91" * 100_000, "its result is not a report"),
        (lambda honest, work: b"\xdd\xff\xff\xff\xff", "its result is not a report"),
        (lambda honest, work: msgspec.msgpack.encode(()), "its result is about other clusters"),
        (other_names, "its result is about other clusters"),
        (raising(ValueError("a\x1b[31m\n::error::b\nc")), "ValueError: a\x1b[31m ::error::b c"),
        (raising(ValueError("x" * 5000)), "x" * 300 + " …"),
        (raising(SystemExit(0)), "SystemExit: 0"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt: "),
        (raising(MemoryError()), "MemoryError"),
        (raising(RecursionError("deep")), "RecursionError: deep"),
    ],
)  # fmt: skip
def test_whatever_else_comes_back_is_one_line_and_done_here(
    place: Path, act: Callable[[Any, Task], object], words: str
) -> None:
    _, alone = run(place, None)
    reasons, outcomes = run(place, RemoteWorkers(Worker(act), 1))
    assert outcomes == alone
    assert [line.partition(": linted in this process")[0] for line in reasons] == ["one, two"]
    assert all(words in line and "\n" not in line and len(line) < 500 for line in reasons)


def test_bytes_are_never_unpickled_by_us(place: Path, tmp_path: Path) -> None:
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    reasons, outcomes = run(place, RemoteWorkers(Worker(lambda honest, work: trap), 1))
    assert [line.partition(":")[0] for line in reasons] == ["one, two"]
    assert all(outcome.report.findings for outcome in outcomes)
    assert not (tmp_path / "sprung").exists()


def test_a_report_without_end_is_not_decoded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_WHOLE", 1 << 20)
    reasons, _ = run(place, RemoteWorkers(Worker(lambda honest, work: bytes((1 << 20) + 1)), 1))
    assert ["its result is larger than 1 MiB" in line for line in reasons] == [True]


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "is_here"),
    [("127.0.0.1:8786", True), ("localhost:8786", True), ("[::1]:8786", True), ("127.1.2.3:1", True),
     ("10.0.0.1:8786", False), ("scheduler:8786", False), ("[2001:db8::1]:8786", False), ("0.0.0.0:8786", False),
     ("localhost.example.com:8786", False), ("127.0.0.1.example.com:1", False)],
)  # fmt: skip
def test_which_addresses_are_this_machine(address: str, is_here: bool) -> None:
    assert executors._is_here(address) == is_here


def test_a_warning_comes_before_the_work(place: Path) -> None:
    reasons, _ = run(
        place, RemoteWorkers(Worker(lambda honest, work: honest(work)), warning="dask://scheduler:8786: sent in clear")
    )
    assert reasons == ["dask://scheduler:8786: sent in clear"]


class Client:
    """In the place of Dask's, it keeps what it was asked for."""

    asked: tuple[str, Any] = ("", None)

    def __init__(self, address: str, *, security: Any, **_: Any) -> None:
        Client.asked = (address, security)

    def nthreads(self) -> dict[str, int]:
        return {"worker": 2}

    def get_executor(self, **_: Any) -> Executor:
        return Worker(lambda honest, work: honest(work))

    def close(self, **_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "target", "is_secret", "is_warned"),
    [
        ("dask://scheduler:8786", "tcp://scheduler:8786", False, True),
        ("dask://127.0.0.1:8786", "tcp://127.0.0.1:8786", False, False),
        ("dask+tls://scheduler:8786", "tls://scheduler:8786", True, False),
    ],
)
def test_what_is_sent_in_clear_is_said_aloud(
    monkeypatch: pytest.MonkeyPatch, name: str, target: str, is_secret: bool, is_warned: bool
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", Client)
    with executor_of(name, 2) as executor:
        assert executor is not None
        assert ("sent unencrypted" in executor.warning, name in executor.warning) == (is_warned, is_warned)
    address, security = Client.asked
    assert address == target
    assert (security is not None and security.require_encryption) == is_secret


def test_without_certificates_tls_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_DASK_SECONDS", 0.5)
    with (
        pytest.raises(FleetError, match=r"--executor dask\+tls://127.0.0.1:9: "),
        executor_of("dask+tls://127.0.0.1:9", 2),
    ):
        pass


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH")
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1"]
    subprocess.run([*made, "-subj", "/CN=fleet"], check=True, capture_output=True)
    parts = {f"distributed.comm.tls.{who}.{what}": path for who in ("client", "scheduler", "worker")
             for what, path in (("key", key), ("cert", cert))}  # fmt: skip
    return {"distributed.comm.tls.ca-file": cert, **parts}


def test_a_real_cluster_over_tls_gives_the_same_and_nothing_listens_here(
    place: Path, certificates: dict[str, str]
) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    _, alone = run(place, None)
    before = listening()
    with dask.config.set({**certificates, "distributed.comm.require-encryption": True}), distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, host="tls://127.0.0.1", dashboard_address=None,
        security=distributed.Security(require_encryption=True), silence_logs=50,
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address.removeprefix("tls://")
        served = listening() - before  # the scheduler, which is of this test
        with executor_of(f"dask+tls://{address}", 2) as executor:
            reasons, outcomes = run(place, executor)
            assert listening() - before == served
        with pytest.raises(FleetError), executor_of(f"dask://{address}", 2):
            pass
    assert reasons == []
    assert outcomes == alone


def listening() -> set[str]:
    """Sockets of this process on which somebody could call, by their inodes."""
    if not os.path.exists("/proc/self/net/tcp"):
        return set()
    handles = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    own = {os.readlink(handle) for handle in handles if os.path.islink(handle)}
    tables = (Path(f"/proc/self/net/{name}").read_text() for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"} & own


def test_local_executors_listen_nowhere(place: Path) -> None:
    before = listening()
    with executor_of("processes:2", 2) as executor:
        run(place, executor)
        assert listening() == before
    assert isinstance(run(place, None)[1][0].report, Report)
