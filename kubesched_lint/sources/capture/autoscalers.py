"""The fields kept of autoscalers of workloads."""

from __future__ import annotations

from kubesched_lint.sources.capture.parts import Amounts, NameMeta, Part


class Target(Part):
    kind: str | None = None
    name: str | None = None


class AutoscalerSpec(Part):
    scale_target_ref: Target | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


class KeptAutoscaler(Part):
    metadata: NameMeta
    spec: AutoscalerSpec


class VerticalUpdate(Part):
    update_mode: str | None = None
    min_replicas: int | None = None


class VerticalPolicy(Part):
    container_name: str | None = None
    mode: str | None = None
    min_allowed: Amounts = None
    max_allowed: Amounts = None
    controlled_resources: list[str] | None = None
    controlled_values: str | None = None


class VerticalPolicies(Part):
    container_policies: list[VerticalPolicy] | None = None


class VerticalSpec(Part):
    target_ref: Target | None = None
    update_policy: VerticalUpdate | None = None
    resource_policy: VerticalPolicies | None = None


class ContainerRecommendation(Part):
    container_name: str | None = None
    target: Amounts = None


class KeptRecommendation(Part):
    container_recommendations: list[ContainerRecommendation] | None = None


class VerticalStatus(Part):
    recommendation: KeptRecommendation | None = None


class KeptVerticalAutoscaler(Part):
    metadata: NameMeta
    spec: VerticalSpec
    status: VerticalStatus | None = None
