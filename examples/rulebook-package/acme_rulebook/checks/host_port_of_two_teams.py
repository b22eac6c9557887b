"""A host port belongs to one team: pods of two that take the same one keep each other off the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint import Facts, Hazard, Place, Workload, policy


def check(facts: Facts, *, label: str) -> Iterator[Hazard]:
    for (protocol, port), users in facts.host_port_users.items():
        first, *others = users
        for other in others:
            if _team(first, label) != _team(other, label):
                yield Hazard(
                    at=_place(other, protocol, port),
                    source=other.source,
                    victim=other.ref,
                    evidence=policy(f"{label} {_team(first, label)} and {_team(other, label)}"),
                    values={"port": port, "protocol": protocol, "holder": first, "team": _team(first, label)},
                    related=(Place(_place(first, protocol, port), "taken here", first.source),),
                )


def _team(workload: Workload, label: str) -> str:
    return workload.labels.get(label, "none")


def _place(workload: Workload, protocol: str, port: int) -> tuple[str | int, ...]:
    return next(p.path for p in workload.pod.host_ports if (p.protocol, p.port) == (protocol, port))
