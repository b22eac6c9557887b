"""Folders that define the same workloads are judged apart: nobody applies two environments to one cluster."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.environments.alternatives import Alternatives, _environment
from kubesched_lint.linter.environments.variants import Variant, Variants
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents

CLUSTER = load_cluster(
    text="apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
    "nodes:\n- {name: worker, count: 2, zones: [a], allocatable: {cpu: 4, memory: 16Gi, pods: 110}}\n",
    elastic=False,
)


def deployment(name: str, cpu: str = "1", replicas: int = 1, namespace: str = "default", pod: str = "") -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        f"  replicas: {replicas}\n  strategy: {{type: Recreate}}\n  selector: {{matchLabels: {{app: {name}}}}}\n"
        f"  template:\n    metadata: {{labels: {{app: {name}}}}}\n"
        f"    spec: {{{pod}containers: [{{name: c, image: i, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}\n---\n"
    )


def daemon(name: str, port: int, namespace: str = "default") -> str:
    return (
        f"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n"
        "    spec:\n      containers:\n"
        f"      - {{name: c, image: i, ports: [{{containerPort: {port}, hostPort: {port}}}]}}\n---\n"
    )


def alternatives(files: dict[str, str], *together: str) -> Alternatives:
    entries = (entry for path, text in files.items() for entry in documents(path, text.encode(), is_read))
    return Alternatives(manifest_set(entries, "default").inventory, together)


def variants(files: dict[str, str]) -> Variants:
    return Variants(alternatives(files))


def groups(*paths: str, together: tuple[str, ...] = ()) -> list[list[str]]:
    """Return the alternatives among files, each with a workload named like the file."""
    files = {path: deployment(path.rpartition("/")[2].removesuffix(".yaml")) for path in paths}
    return [list(group) for group in alternatives(files, *together).groups]


def names(variant: Variant) -> set[str]:
    return {f"{w.source.path}:{w.name}" for w in variant.manifests.workloads if w.source}


def errors(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity is Severity.ERROR]


def judged(files: dict[str, str]) -> Report:
    return lint(text=files, cluster=CLUSTER)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["prod/web.yaml", "dev/web.yaml"], [["prod", "dev"]]),
        (["./prod/web.yaml", "dev/web.yaml"], [["prod", "dev"]]),
        (["/k8s/prod/web.yaml", "/k8s/prod/db.yaml", "/k8s/dev/web.yaml"], [["/k8s/prod", "/k8s/dev"]]),
        (["e/prod/a/web.yaml", "e/dev/b/web.yaml"], [["e/prod", "e/dev"]]),
        (["a/prod/web.yaml", "a/dev/web.yaml", "b/prod/db.yaml"], [["a/prod", "a/dev"]]),
        (["one/web.yaml", "two/web.yaml", "two/db.yaml"], [["one", "two"]]),
        (["base/web.yaml", "base/a.yaml", "base/b.yaml", "extra/web.yaml"], []),  # a set and one change
        (["prod/web.yaml", "prod/a.yaml", "prod/b.yaml", "dev/web.yaml"], [["prod", "dev"]]),
        (["web/web.yaml", "db/db.yaml"], []),
        (["web.yaml", "b/c/d.yaml", "b/c/web.yaml"], [["web.yaml", "b"]]),
    ],
)
def test_folders_are_alternatives_if_half_of_their_workloads_are_the_same(
    paths: list[str], expected: list[list[str]]
) -> None:
    assert groups(*paths) == expected


def test_releases_in_one_folder_are_alternatives() -> None:
    files = {f"releases/v{n}.yaml": deployment("controller") + deployment("node") for n in range(3)}
    assert [*map(list, alternatives(files).groups)] == [[*files]]


def test_any_two_of_a_group_have_a_common_workload() -> None:
    parts = {"a/x.yaml": deployment("a"), "b/x.yaml": deployment("b")}
    both = {"whole/x.yaml": deployment("a") + deployment("b")}
    assert [*map(list, alternatives(parts | both).groups)] == [["a", "whole"]]


def test_what_is_no_workload_is_no_sign() -> None:
    twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n"
    files = {"db/all.yaml": twice + deployment("db"), "web/all.yaml": twice + deployment("web")}
    assert not alternatives(files).groups


def test_each_file_with_one_generated_name_makes_a_pod_of_its_own() -> None:
    """Three pods of 3 CPUs do not fit on two nodes of 4, whatever name each gets."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: run-}\n"
        "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}\n---\n"
    )
    for files in ({f"{name}.yaml": pod for name in "abc"}, {"all.yaml": 3 * pod}):
        assert not alternatives(files).groups
        assert [finding.rule for finding in errors(judged(files))] == ["set-does-not-fit"]


@pytest.mark.parametrize(("one", "other", "found"), [("staging", "prod", 1), ("a", "b", 0), ("web-prod", "db-prod", 0)])
def test_two_environments_may_differ_in_namespaces(one: str, other: str, found: int) -> None:
    """The same names in two namespaces are two objects, unless the folders are named after environments."""
    files = {f"{name}/web.yaml": deployment("web", namespace=name) for name in (one, other)}
    assert len(alternatives(files).groups) == found


def test_what_a_target_names_is_applied_together() -> None:
    paths = ("k8s/common/web.yaml", "k8s/prod/web.yaml", "k8s/prod/db.yaml")
    assert groups(*paths) == [["k8s/common", "k8s/prod"]]
    assert groups(*paths, together=("k8s/common", "k8s/prod")) == []
    assert groups(*paths, together=("k8s",)) == [["k8s/common", "k8s/prod"]]


# --- the sets that somebody may apply ---------------------------------------------------------------------------------


def test_a_variant_has_one_alternative_and_what_is_shared() -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n"
    files = {
        "shared/queue.yaml": deployment("queue"),
        "prod/web.yaml": deployment("web"),
        "prod/cache.yaml": deployment("cache"),
        "dev/web.yaml": deployment("web"),
        "dev/mail.yaml": deployment("mail"),
        "dev/claim.yaml": claim,
    }
    prod, dev = variants(files).all
    queue = "shared/queue.yaml:queue"
    assert names(prod) == {queue, "prod/web.yaml:web", "prod/cache.yaml:cache"}
    assert names(dev) == {queue, "dev/web.yaml:web", "dev/mail.yaml:mail"}
    assert [w.name for w in dev.judged] == ["queue", "web", "mail"]
    assert len(prod.manifests.claims) == len(dev.manifests.claims) == 1  # somebody may need it


def test_environments_of_one_name_are_applied_together() -> None:
    files = {f"{app}/{env}/all.yaml": deployment(app) for app in ("web", "db") for env in ("prod", "dev")}
    files["mail/live/all.yaml"] = files["mail/dev/all.yaml"] = deployment("mail")
    folders = [{path.rpartition("/")[0] for path in names(variant)} for variant in variants(files).all]
    assert folders == [{"web/prod", "db/prod", "mail/live"}, {"web/dev", "db/dev", "mail/dev"}]


def test_alternatives_lie_in_alternatives() -> None:
    files = {f"{at}/{env}/all.yaml": deployment("web") for at in ("east", "west") for env in ("prod", "dev")}
    assert [names(variant) for variant in variants(files).all] == [{f"{path}:web"} for path in files]


def test_each_workload_is_judged_somewhere() -> None:
    files = {f"s/f{n}/all.yaml": deployment("web") + deployment(f"own{n}") for n in range(7)}
    files |= {f"t/g{n}/all.yaml": deployment("db") for n in range(2)} | {"other.yaml": deployment("other")}
    found = variants(files)
    judged = {w for variant in found.all for w in variant.judged}
    assert judged == set(found.alternatives.manifests.workloads)
    assert len(found.all) == 7


def test_the_work_grows_with_the_number_of_folders() -> None:
    from kubesched_lint.engine.base import work

    def spent(number: int) -> float:
        claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n"
        files = {f"f{n}/all.yaml": deployment("web") + deployment(f"own{n}") + claim for n in range(number)}
        with work.within(1_000_000) as limit:
            assert len(variants(files).all) == number
        return limit.spent

    assert spent(80) < 2.2 * spent(40)


def test_too_many_to_tell_apart_are_one_set() -> None:
    from kubesched_lint.engine.base import work

    files = {f"f{n}/all.yaml": deployment("web") for n in range(20)}
    with work.within(40):
        found = variants(files)
        assert [len(variant.judged) for variant in found.all] == [20]
        assert not [*found.notes()]


# --- findings ---------------------------------------------------------------------------------------------------------


def test_workloads_of_two_environments_do_not_compete() -> None:
    files = {
        "prod/web.yaml": deployment("web"),
        "prod/cache.yaml": deployment("cache", cpu="3", replicas=2),
        "dev/web.yaml": deployment("web"),
        "dev/mail.yaml": deployment("mail", cpu="3", replicas=2),
    }
    report = judged(files)
    assert not [f for f in report.findings if f.severity is not Severity.NOTE]
    (note,) = (note for note in report.summary.notes if "judged apart" in note)
    assert note.startswith("judged apart, because they define the same workloads: prod and dev. [[targets]] in ")


@pytest.mark.parametrize("other", ["dev", "lab"])
def test_an_environment_that_does_not_fit_on_its_own_is_still_an_error(other: str) -> None:
    files = {
        "prod/web.yaml": deployment("web"),
        "prod/cache.yaml": deployment("cache", cpu="4", replicas=2),
        f"{other}/web.yaml": deployment("web"),
        f"{other}/mail.yaml": deployment("mail"),
    }
    (error,) = errors(judged(files))
    assert "prod/" in error.location.path


def test_what_competes_with_what_is_shared_is_an_error_in_any_of_many_folders() -> None:
    files = {f"v{n}/all.yaml": deployment("web") + daemon("agent", 9000 + n) for n in range(9)}
    files["shared.yaml"] = daemon("proxy", 9005)
    (error,) = errors(judged(files))
    assert error.rule == "hostport-cross-workload"
    assert {error.location.path, *(place.location.path for place in error.related)} == {"shared.yaml", "v5/all.yaml"}


def test_two_overlays_of_one_base_do_not_compete_for_a_host_port() -> None:
    files = {f"{env}/all.yaml": daemon("agent", 9000, env) for env in ("staging", "prod")}
    assert not errors(judged(files))
    files["prod/other.yaml"] = daemon("other", 9000, "prod")
    (error,) = errors(judged(files))
    assert error.location.path.startswith("prod/")


def test_folders_without_a_common_workload_are_one_set() -> None:
    files = {
        "shop/web.yaml": deployment("web"),
        "shop/cache.yaml": deployment("cache", cpu="3", replicas=2),
        "mail/mail.yaml": deployment("mail", cpu="3", replicas=2),
    }
    assert errors(judged(files))


def scaler(name: str) -> str:
    return (
        f"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec:\n"
        f"  minReplicas: 3\n  maxReplicas: 3\n"
        f"  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n"
    )


@pytest.mark.parametrize(("path", "severity"), [("b/hpa.yaml", Severity.ERROR), ("scaling/hpa.yaml", Severity.WARNING)])
def test_an_autoscaler_elsewhere_may_be_meant_for_one_of_them(path: str, severity: Severity) -> None:
    files = {f"{at}/web.yaml": deployment("web", cpu="3") for at in "ab"}
    worst = [f for f in judged({**files, path: scaler("web")}).findings if f.severity is not Severity.NOTE]
    assert {f.severity for f in worst} == {severity}
    assert {f.location.path[:2] for f in worst} <= {"b/"} if severity is Severity.ERROR else len(worst) > 0


def test_what_an_alternative_makes_is_not_absent() -> None:
    """Somebody may keep what others need in one of the folders."""
    affinity = (
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}, "
    )
    budget = (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: mail-pdb}\n"
        "spec: {minAvailable: 1, selector: {matchLabels: {app: cache}}}\n"
    )
    files = {
        "one/web.yaml": deployment("web"),
        "one/cache.yaml": deployment("cache", replicas=3),
        "two/web.yaml": deployment("web"),
        "two/mail.yaml": deployment("mail", pod=affinity),
        "mail/budget.yaml": budget,
    }
    rules = {"affinity-selector-matches-nothing", "budget-selects-nothing"}
    assert not rules & {f.rule for f in judged(files).findings}
    del files["one/cache.yaml"]
    assert "affinity-selector-matches-nothing" in {f.rule for f in judged(files).findings}


def test_a_finding_hides_none_in_an_alternative() -> None:
    files = {f"{at}/web.yaml": deployment("web", cpu="5", pod="nodeSelector: {disk: ssd}, ") for at in "ab"}
    alone = judged({"a/web.yaml": files["a/web.yaml"]}).findings
    both = judged(files).findings
    assert [f.rule for f in both if f.location.path == "a/web.yaml"] == [f.rule for f in alone]
    assert [f.rule for f in both if f.location.path == "b/web.yaml"] == [f.rule for f in alone]


def test_the_note_is_short() -> None:
    files = {f"app{a}/v{n}/all.yaml": deployment(f"w{a}") for a in range(5) for n in range(6)}
    (note,) = variants(files).notes()
    listed = "; ".join(f"v0, v1, v2 and 3 more in app{a}" for a in range(3))
    assert note == f"judged apart, because they define the same workloads: {listed}; and 2 more groups"


@pytest.mark.parametrize(
    ("path", "environment"),
    [
        ("overlays/prod", "prod"),
        ("overlays/prod-eu-2", "prod"),
        ("clusters/us-east-1-staging", "staging"),
        ("overlays/dev.yaml", "dev"),
        ("k8s/dev-portal", ""),
        ("k8s/live-chat", ""),
        ("k8s/qa-tools", ""),
        ("teams/live", ""),
        ("services/dev", ""),
    ],
)
def test_an_application_that_is_named_like_an_environment_is_none(path: str, environment: str) -> None:
    assert _environment(path) == environment


# --- releases that lie beside each other -----------------------------------------------------------------------------

PICKY = "nodeSelector: {disk: nvme}, "


def blamed(*paths: str) -> tuple[set[str], list[str]]:
    """Return the files with findings and the notes on releases, if each file has the same impossible Deployment."""
    report = judged({path: deployment("driver", pod=PICKY) for path in paths})
    places = (place for f in report.findings for place in (f.location.path, *(also.location.path for also in f.also)))
    return set(places), [note for note in report.summary.notes if "older releases" in note]


@pytest.mark.parametrize("paths", [("r/v1.9.0.yaml", "r/v1.10.0.yaml"), ("d/csi-1.9/a.yaml", "d/csi-1.10/a.yaml")])
def test_only_the_newest_release_has_findings(paths: tuple[str, str]) -> None:
    found, notes = blamed(*paths)
    assert found == {paths[1]}
    newest = paths[1] if paths[1].startswith("r/") else "d/csi-1.10"
    assert notes == [f"not reported: 1 finding in older releases of {newest}; to judge one, name it"]


@pytest.mark.parametrize(
    "paths",
    [
        ("r/reviews-v1.yaml", "r/reviews-v2.yaml"),  # variants
        ("r/v1.0.0.yaml", "r/web-v1.1.0.yaml"),  # of another thing
        ("staging-1.29/a.yaml", "prod-1.30/a.yaml"),
    ],
)
def test_what_differs_in_more_than_a_version_is_no_older_release(paths: tuple[str, str]) -> None:
    assert blamed(*paths) == (set(paths), [])


def test_a_release_that_is_named_is_judged() -> None:
    assert blamed("r/v1.0.0.yaml")[0] == {"r/v1.0.0.yaml"}
    both = {path: deployment("driver") for path in ("r/v1.0.0.yaml", "r/v1.1.0.yaml")}
    assert set(alternatives(both).older) == {"r/v1.0.0.yaml"}
    assert not alternatives(both, "r/v1.0.0.yaml").older


def test_releases_are_seen_beside_the_file_that_has_one_of_their_workloads() -> None:
    release = "".join(deployment(name) for name in ("controller", "node", "snapshot"))
    files = {"d/controller.yaml": deployment("controller"), "d/v1.1/all.yaml": release, "d/v1.2/all.yaml": release}
    assert set(alternatives(files).older) == {"d/v1.1"}
