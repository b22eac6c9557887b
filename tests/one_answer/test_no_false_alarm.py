"""The one error in the healthy sets of seeds 1 to 40 is true: a quota of the generator covers the deploy, no rollout.

The API server creates no pod above ``hard`` (``resourcequota/controller.go``, checkRequest). A quarter of two pods is
one more and none fewer (``deployment/util``, ResolveFenceposts), so no old pod may go before a new one runs. Such a
rollout was recorded with a v1.36: ``fixtures/outsiders/recorded/quota-rollout-alone.yaml``.
"""

from __future__ import annotations

from kubesched_lint.engine.model.policy import ResourceQuota
from tests.one_answer import scenes

SEED, QUARTER = 18, 4


def test_a_healthy_set_whose_quota_leaves_no_room_for_the_extra_pod() -> None:
    scene = next(scenes.of_ordinary(SEED, "nodes", 0))
    ((error, (ref,)),) = scene.errors
    assert (error.rule, str(ref)) == ("rollout-never-ends", "Deployment crm/catalog")
    (quota,) = (q for q in scene.manifests.inventory.quotas if q.namespace == ref.namespace)
    (workload,) = (w for w in scene.manifests.inventory.workloads if w.ref == ref)
    extra, fewer = -(-workload.replicas // QUARTER), workload.replicas // QUARTER
    assert (extra, fewer) == (1, 0)
    assert cpu(quota) >= workload.replicas * workload.pod.requests["cpu"], "the deploy fits"
    assert cpu(quota) < (workload.replicas + extra) * workload.pod.requests["cpu"], "the rollout does not"


def cpu(quota: ResourceQuota) -> int:
    return quota.hard["requests.cpu"]
