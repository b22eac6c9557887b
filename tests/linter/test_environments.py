"""Alternatives are environments: discovered once, named by what tells them apart, and judged by every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint import simulate
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.linter import limits
from kubesched_lint.linter.environments.environments import Environments, environments_of, said_once, shared_part
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents

ROOT = Path(__file__).parents[2]


def deployment(name: str, replicas: int = 1) -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: web, image: "registry.example.com/web:1"}}]
"""


def inventory(**files: str) -> Inventory:
    named = {path.replace("__", "/").replace("_", "-") + ".yaml": text for path, text in files.items()}
    read = (each for path, text in named.items() for each in documents(path, text.encode(), is_read))
    return manifest_set(read, "default").inventory


def subjects(found: Environments) -> dict[str, list[str]]:
    return {one.name: sorted(ref.name for ref in one.subjects) for one in found.each}


def test_a_set_without_alternatives_is_one_environment_without_a_name() -> None:
    found = environments_of(inventory(web=deployment("web"), api=deployment("api")))
    assert subjects(found) == {"": ["api", "web"]}
    assert (found.names, found.notes) == ((), ())
    with pytest.raises(ValueError, match="--env prod: no folders or files"):
        environments_of(inventory(web=deployment("web")), wanted=["prod"])


def test_environments_have_the_names_that_tell_them_apart_and_what_they_share() -> None:
    found = environments_of(
        inventory(
            overlays__prod__web=deployment("web", 4), overlays__staging__web=deployment("web"), db=deployment("db")
        )
    )
    assert subjects(found) == {"prod": ["db", "web"], "staging": ["db", "web"]}
    assert [w.replicas for one in found.each for w in one.manifests.workloads if w.name == "web"] == [4, 1]
    assert "judged apart" in found.notes[0]


def test_files_are_named_without_the_words_that_they_share() -> None:
    found = environments_of(inventory(shop_prod_eu=deployment("web"), shop_staging_eu=deployment("web", 2)))
    assert found.names == ("prod", "staging")


def test_groups_of_one_name_are_one_environment() -> None:
    found = environments_of(
        inventory(
            a__web_prod=deployment("web"),
            a__web_staging=deployment("web", 2),
            b__api_dev=deployment("api", 3),
            b__api_prod=deployment("api", 2),
            b__api_staging=deployment("api"),
        )
    )
    assert subjects(found) == {"prod": ["api", "web"], "staging": ["api", "web"], "dev": ["api"]}
    dev = found.named("dev")
    assert dev is not None
    assert [ref.name for ref in dev.borrowed] == ["web"], "it takes its place on the nodes"


def test_names_choose_environments() -> None:
    manifests = inventory(prod__web=deployment("web"), staging__web=deployment("web", 2))
    found = environments_of(manifests, wanted=["prod"])
    assert (found.names, found.notes) == (("prod",), ())
    with pytest.raises(ValueError, match="--env prd: no environment is called so; did you mean `prod`"):
        environments_of(manifests, wanted=["prd"])


def test_older_releases_are_history() -> None:
    files = {f"addon_v1.{n}.0": deployment("web", n + 1) for n in range(3)}
    assert environments_of(inventory(**files)).names == ("v1.2.0",)


def test_a_path_that_only_the_other_version_has_alternatives_for_is_an_environment() -> None:
    now = inventory(overlays__staging__web=deployment("web"), db=deployment("db"))
    known = [["overlays/prod", "overlays/staging"]]
    found = environments_of(now, known=known)
    assert found.names == ("staging",)
    assert [w.name for w in shared_part(now, known).manifests.workloads] == ["db"]


def test_environments_beyond_the_limit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_lint.linter.environments.environments.MOST_ENVIRONMENTS", 2)
    assert limits.MOST_ENVIRONMENTS > 2
    files = {f"{name}__web": deployment("web", n) for n, name in enumerate(("dev", "prod", "staging"), 1)}
    found = environments_of(inventory(**files))
    assert len(found.each) == 2
    assert "not judged: 1 more environment (staging); --env names those to judge" in found.notes


def test_what_all_environments_say_is_said_once() -> None:
    assert said_once([("prod", ["a", "b"]), ("staging", ["b", "c"])]) == ("prod: a", "b", "staging: c")


def test_the_library_names_the_environments_of_an_outcome() -> None:
    texts = {f"{name}/web.yaml": deployment("web", n) for n, name in enumerate(("prod", "staging"), 1)}
    texts |= {"db.yaml": deployment("db")}
    found = simulate(text=texts, cluster=ROOT / "fixtures/clusters/three-zones.yaml", events=("deploy",))
    assert [(one.wanted, one.environments) for one in found.of("Deployment shop/web")] == [
        (1, ("prod",)),
        (2, ("staging",)),
    ]
    assert [one.environments for one in found.of("Deployment shop/db")] == [()]
