"""``--fix`` writes into the values of a release where its card says that a field is that value, and nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.charts.packing import WEB, packed
from tests.charts.test_rendered_releases import RELEASE, RENDERED, SYNC, Repository
from tests.custom.test_app_template import RELEASE as APP_TEMPLATE

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

FILE = "cluster/release.yaml"
VALUES = (
    APP_TEMPLATE.replace("VERSION", "4.1.1").replace("Name: high", "Name: lo").replace("replicas: 4", "replicas: 2")
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def fixed(repository: Repository, *words: str) -> tuple[str, str]:
    """What the file becomes, and what is said."""
    done = repository.run("lint", *words, "--fix", "--unsafe-fixes")
    return (repository.folder / FILE).read_text(), done.stderr


def test_a_value_of_the_release_is_changed_where_it_stands(repository: Repository) -> None:
    repository.release(VALUES)
    assert fixed(repository, FILE)[0] == VALUES.replace("priorityClassName: lo", "priorityClassName: low")


@pytest.mark.parametrize("own", [True, False])
def test_what_is_absent_is_added_to_the_options_of_the_pod(repository: Repository, own: bool) -> None:
    text = APP_TEMPLATE.replace("VERSION", "4.1.1").partition("        pod:")[0]
    text = text.replace("      priorityClassName: high\n", "      priorityClassName: low\n").replace(
        "replicas: 4", "replicas: 1"
    )
    text += "        pod: {hostNetwork: false}\n" if own else ""
    text += "        containers:\n          app: {image: web, resources: {requests: {cpu: 100m}}}\n"
    repository.release(text)
    sketch = (repository.folder / "sketch.yaml").read_text()
    (repository.folder / "sketch.yaml").write_text(sketch.replace("count: 3", "count: 3, taints: ['a=b:NoSchedule']"))
    made, _ = fixed(repository, FILE)
    values = yaml.safe_load(made)["spec"]["values"]
    assert values["controllers"]["main"].keys() == {"replicas", "pod", "containers"}
    assert values["controllers"]["main"]["pod"]["tolerations"] == [
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    ]
    assert "no findings" in repository.run("lint", FILE).stdout


def test_merged_defaults_are_changed_nowhere(repository: Repository) -> None:
    """The pod's own selector and the default one become one field: nobody can say where a part of it stands."""
    text = VALUES.replace(
        "priorityClassName: lo\n", "nodeSelector: {disc: ssd}\n    defaultPodOptionsStrategy: merge\n"
    )
    text = text.replace("        pod:\n", "        pod:\n          nodeSelector: {zone: a}\n")
    repository.release(text)
    assert fixed(repository, FILE)[0] == text


def test_values_of_a_config_map_are_not(repository: Repository) -> None:
    text = VALUES.replace("    defaultPodOptions:\n      priorityClassName: lo\n", "")
    text = text.replace("  values:\n", "  valuesFrom: [{kind: ConfigMap, name: more}]\n  values:\n")
    text += (
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: shop}\n"
        "data: {values.yaml: 'defaultPodOptions: {priorityClassName: lo}'}\n"
    )
    repository.release(text)
    assert fixed(repository, FILE)[0] == text


def test_in_a_set_the_value_is_changed_too(repository: Repository) -> None:
    repository.release(VALUES)
    assert fixed(repository)[0] == VALUES.replace("priorityClassName: lo", "priorityClassName: low")


def test_a_value_that_is_a_variable_is_not(repository: Repository) -> None:
    text = VALUES.replace("priorityClassName: lo", "priorityClassName: ${CLASS:=lo}")
    sync = repository.folder / "cluster" / "gotk-sync.yaml"
    repository.release(text)
    sync.write_text(SYNC.replace("{path:", "{postBuild: {substitute: {A: b}}, path:"))
    written, said = fixed(repository)
    assert written == text
    assert f"a variable is filled in; in {FILE}:8, write low" in said


def test_what_only_looks_like_its_value_is_not_changed(repository: Repository) -> None:
    """A rendered field is blamed on a value by its name and content, which proves no mapping."""
    text = RELEASE.replace("ADDRESS", "https://example.com/charts")
    text = text.replace("    nodeSelector:\n      disk: ssd\n", "    priorityClassName: lo\n")
    repository.release(text)
    repository.locks(packed(WEB))
    repository.prints(RENDERED.replace("priorityClassName: high", "priorityClassName: lo"))
    for words in ((), (FILE,)):
        assert fixed(repository, *words)[0] == text
