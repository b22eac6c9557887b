"""An API server that is slow, busy, forgetful or shut: ``check`` gets its facts, or refuses with the reason."""

from __future__ import annotations

import time
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from kubesched_lint.commands.check.check_result import Check
from kubesched_lint.report.check.words import headline
from kubesched_lint.sources.capture.resources import RESOURCES
from tests.capture.stand_in import Fault, Handler, cut, hang, reset, status
from tests.check.live import Live, autoscaler, deployment, running, stored

FIXED = ("--node-groups", "complete")
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
OWN = "/apis/apps/v1/namespaces/shop/deployments"


def ready(live: Live, **spec: object) -> None:
    """A cluster in which a rollout of web is fine."""
    live.holds(*running(stored(deployment("web", **spec))))
    live.apply(deployment("web", image="registry.example.com/app:2", **spec))


def endless(handler: Handler) -> bool:
    """As a watch does: bytes come, one at a time, and the answer never ends."""
    try:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while True:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        handler.close_connection = True
    return True


@pytest.mark.parametrize("path", [PODS, NODES, OWN])
@pytest.mark.parametrize(
    "fault",
    [status(429, Retry_After="0"), status(410), status(503), reset, cut],
    ids=["429", "410", "503", "reset", "cut"],
)
def test_what_passes_is_tried_again(live: Live, path: str, fault: Fault) -> None:
    ready(live)
    live.server.fails(path, fault)
    done = live.check(*FIXED)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "passes: 1 workload is rolled out"), done.stderr
    assert len([asked for asked in live.server.requests if urlsplit(asked).path == path]) > 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (hang(60), "no answer for pods within 0.2 s (--request-timeout) (4 attempts)"),
        (endless, "no answer for pods within 0.2 s (--request-timeout) (4 attempts)"),
        (status(429, Retry_After="0"), "pods: too many requests (429)"),
        (status(500), "pods: the server failed (500)"),
    ],
    ids=["slow", "endless", "429", "500"],
)
def test_what_lasts_ends_in_time_with_one_line_and_exit_2(live: Live, fault: Fault, words: str) -> None:
    ready(live)
    live.server.fails(PODS, *[fault] * 20)
    begin = time.monotonic()
    done = live.check("--request-timeout", "0.2", *FIXED)
    assert time.monotonic() - begin < 30
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_says_try_again_in_an_hour_is_not_waited_for(live: Live) -> None:
    ready(live)
    live.server.fails(PODS, status(429, Retry_After="3600"))
    begin = time.monotonic()
    done = live.check("--list-timeout", "2", *FIXED)
    assert time.monotonic() - begin < 20
    assert (done.returncode, done.stdout) == (2, "")
    assert "within 2 s (--list-timeout)" in done.stderr


def test_without_the_right_to_whole_templates_it_does_not_say_that_nothing_starts(live: Live) -> None:
    """An argument alone differs, which a snapshot does not hold."""
    live.holds(*running(stored(deployment("web"))))
    web = deployment("web")
    web["spec"]["template"]["spec"]["containers"][0]["args"] = ["--verbose"]
    live.apply(web)
    live.server.fails(OWN, *[status(403)] * 9)
    done = live.check(*FIXED)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "passes: 1 workload is perhaps rolled out"), (
        done.stdout
    )


def test_without_the_right_to_see_replica_sets_old_pods_still_take_room(live: Live) -> None:
    live.lacks_room_for_a_surge()
    live.server.fails("/apis/apps/v1/replicasets", *[status(403)] * 9)
    done = live.check(*FIXED)
    assert (done.returncode, "replicasets: forbidden (403)" in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (PODS, "nothing can be said: no Pod is known (pods: forbidden (403))"),
        ("/apis/apps/v1/deployments", "nothing can be said: no Deployment is known (deployments: forbidden (403))"),
    ],
)
def test_without_a_right_that_it_needs_it_refuses(live: Live, path: str, words: str) -> None:
    ready(live)
    live.server.fails(path, *[status(403)] * 9)
    done = live.check(*FIXED)
    assert (done.returncode, done.stdout.splitlines()[0]) == (2, words)


def test_a_right_that_these_objects_do_not_need_is_no_matter(live: Live) -> None:
    ready(live)
    for plural in ("persistentvolumes", "persistentvolumeclaims", "services"):
        live.server.fails(f"/api/v1/{plural}", *[status(403)] * 9)
    done = live.check(*FIXED)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "passes: 1 workload is rolled out"), done.stdout


def test_without_a_right_that_a_verdict_needs_it_refuses(live: Live) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    ready(live, volumes=volumes)
    for plural in ("persistentvolumes", "persistentvolumeclaims"):
        live.server.fails(f"/api/v1/{plural}", *[status(403)] * 9)
    done = live.check(*FIXED)
    assert done.returncode == 2, done.stdout
    assert "not captured: persistentvolumeclaims: forbidden (403)" in done.stdout


def test_without_the_right_to_see_autoscalers_nothing_is_said_of_maxima(live: Live) -> None:
    ready(live)
    path = "/apis/autoscaling/v2/horizontalpodautoscalers"
    live.server.fails(path, *[status(403)] * 9)
    done = live.check(*FIXED)
    assert done.returncode == 0
    assert "horizontalpodautoscalers: forbidden (403)" in done.stdout


def test_it_only_lists_and_never_watches(live: Live) -> None:
    web = deployment("web", None)
    live.holds(*running(stored(web, 2)), autoscaler("web", 4))
    live.apply(web)
    assert live.check(*FIXED).returncode == 0
    paths = [urlsplit(path) for path in live.server.requests]
    assert not any("watch" in parse_qs(path.query) for path in paths)
    named = {path.path for path in paths if path.path.count("/") > 4 and "/namespaces/" not in path.path}
    plurals = {resource.plural for resource in RESOURCES}
    assert {path.rpartition("/")[2] for path in named} <= plurals


def test_the_role_that_it_prints_lists_and_does_nothing_else(live: Live) -> None:
    done = live.check("--rbac")
    assert done.returncode == 0
    assert not live.server.requests
    role = yaml.safe_load(done.stdout)
    lists = [rule for rule in role["rules"] if "resources" in rule]
    allowed = [(group, plural) for rule in lists for group in rule["apiGroups"] for plural in rule["resources"]]
    assert sorted(allowed) == sorted((resource.group, resource.plural) for resource in RESOURCES)
    assert {verb for rule in lists for verb in rule["verbs"]} == {"list"}
    others = [rule for rule in role["rules"] if rule not in lists]
    assert others == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_without_a_cluster_or_a_manifest_it_is_exit_2(live: Live) -> None:
    (live.folder / "apps.yaml").write_text("a: b\n")
    done = live.check(*FIXED)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no Kubernetes object found" in done.stderr


def test_what_the_file_does_not_list_is_one_sentence_with_what_to_add() -> None:
    missing = tuple(f"no {kind} is known (cluster.json does not list them)" for kind in ("Deployment", "StatefulSet"))
    found = Check("manifests", "cluster.json", missing=(*missing, "no Pod is known (pods: forbidden (403))"))
    assert headline(found) == (
        "nothing can be said: cluster.json lists no Deployments and StatefulSets: add deploy,sts to kubectl get, "
        "or use `kubesched-lint snapshot`; no Pod is known (pods: forbidden (403))"
    )
