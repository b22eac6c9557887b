"""A made repository of many teams and clusters: a target for each team on each cluster, and CODEOWNERS."""

from __future__ import annotations

from pathlib import Path

CLUSTERS = ("eu", "us")
MISTAKE = "nodeselector-matches-nothing"
"""The rule that finds what ``mistakes`` of each team have in common."""
_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {team}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{pool: {pool}}}
      containers:
      - name: main
        image: registry.example.com/{team}/{name}:1.0
        resources: {{requests: {{cpu: {cpu}, memory: 128Mi}}}}
"""
_CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {{name: worker, count: {each}, zones: [{zone}a, {zone}b, {zone}c], labels: {{pool: general}}, \
allocatable: {{cpu: 15890m, memory: 60Gi, pods: "110"}}}}
"""


def team_name(number: int) -> str:
    return f"team-{number:02}"


def workload(name: str, team: str, *, pool: str = "general", replicas: int = 2, cpu: str = "100m") -> str:
    return _WORKLOAD.format(name=name, team=team, pool=pool, replicas=replicas, cpu=cpu)


def write_team(folder: Path, team: str, mistakes: int = 0, healthy: int = 3) -> None:
    """Write the folder of a team: workloads that run, and those that ask for a pool which no node has."""
    home = folder / "teams" / team
    home.mkdir(parents=True)
    for number in range(healthy):
        (home / f"web-{number}.yaml").write_text(workload(f"web-{number}", team))
    for number in range(mistakes):
        (home / f"batch-{number}.yaml").write_text(workload(f"batch-{number}", team, pool="genral"))


def write_repo(folder: Path, teams: int = 40, *, mistakes: int = 0, healthy: int = 3) -> None:
    """Write the repository of ``teams`` teams on each of ``CLUSTERS``."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "clusters").mkdir()
    for name in CLUSTERS:
        (folder / "clusters" / f"{name}.yaml").write_text(_CLUSTER.format(zone=f"{name}-west-1", each=4))
    config = ['node-groups = "complete"', 'unclaimed = "error"']
    owned = ["* @org/platform"]
    for number in range(teams):
        team = team_name(number)
        write_team(folder, team, mistakes, healthy)
        owned.append(f"/teams/{team}/ @org/{team}")
        for cluster in CLUSTERS:
            config += ["", "[[targets]]", f'name = "{team}-{cluster}"', f'paths = ["teams/{team}"]']
            config.append(f'cluster = "clusters/{cluster}.yaml"')
    (folder / "kubesched.toml").write_text("\n".join(config) + "\n")
    (folder / "CODEOWNERS").write_text("\n".join(owned) + "\n")
