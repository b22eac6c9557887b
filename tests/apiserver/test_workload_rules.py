"""Rules of the controllers (pkg/apis/apps and pkg/apis/batch, v1.36) that no recording shows, or shows once."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.apiserver.objects.workloads import amount
from kubesched_lint.engine.apiserver.validate import validate

POD = {"containers": [{"name": "c", "image": "i"}]}
NEVER = POD | {"restartPolicy": "Never"}


def template(spec=POD, **labels):
    return {"metadata": {"labels": labels or {"app": "a"}}, "spec": spec}


def workload(kind, **spec):
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template()} | spec
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": whole}


def job(name="a", **spec):
    whole = {"template": template(NEVER)} | spec
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": whole}


def cron_job(schedule="*/5 * * * *", job_spec=None, **spec):
    inner = {"template": template(NEVER)} | (job_spec or {})
    whole = {"schedule": schedule, "jobTemplate": {"spec": inner}} | spec
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": whole}


def errors_of(value):
    return [str(cause) for cause in validate(value).causes]


REFUSED = [
    (
        workload("Deployment", progressDeadlineSeconds=5, minReadySeconds=5),
        "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
    ),
    (
        workload("Deployment", strategy={"type": "Rolling", "rollingUpdate": {"maxSurge": 1}}),
        'spec.strategy: Unsupported value: {"Type":"Rolling","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
        'supported values: "Recreate", "RollingUpdate"',
    ),
    (
        workload("Deployment", selector={"matchExpressions": [{"key": "app", "operator": "Equals"}]}),
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Equals"}]}: '
        "invalid label selector",
    ),
    (
        workload("ReplicaSet", selector={}),
        "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
    ),
    (
        workload("DaemonSet", template=template(POD | {"activeDeadlineSeconds": 5})),
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
    ),
    (
        workload("DaemonSet", updateStrategy={"type": "Recreate"}),
        'spec.updateStrategy: Unsupported value: {"Type":"Recreate","RollingUpdate":null}: '
        'supported values: "RollingUpdate", "OnDelete"',
    ),
    (
        workload("StatefulSet", serviceName="Bad_Name"),
        'spec.serviceName: Invalid value: "Bad_Name": a lowercase RFC 1123 label must consist of lower case '
        "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
        "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    (
        workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {}}]),
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
    ),
    (
        workload("StatefulSet", updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: '
        "only allowed for updateStrategy 'RollingUpdate'",
    ),
    (
        workload("StatefulSet", updateStrategy={"rollingUpdate": {"partition": -1}}),
        "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        workload("StatefulSet", ordinals={"start": -1}),
        "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        workload("StatefulSet", persistentVolumeClaimRetentionPolicy={"whenScaled": "Keep"}),
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": '
        'supported values: "Retain", "Delete"',
    ),
    (
        job(template=template(POD)),
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ),
    (
        job(selector={"matchLabels": {"app": "a"}}),
        'spec.selector: Invalid value: {"matchLabels":{"app":"a"}}: `selector` not auto-generated',
    ),
    (job(manualSelector=True), "spec.selector: Required value"),
    (
        job(completionMode="Indexed", parallelism=2),
        "spec.completions: Required value: when completion mode is Indexed",
    ),
    (
        job(backoffLimitPerIndex=1),
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
    ),
    (
        job(maxFailedIndexes=1, completionMode="Indexed", completions=3),
        "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
    ),
    (
        job(
            podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3, 1, 0]}}]}
        ),
        "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,1,0]: must be ordered",
    ),
    (
        job(podFailurePolicy={"rules": [{"action": "FailJob"}]}),
        "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
    ),
    (
        job(completionMode="Indexed", completions=3, successPolicy={"rules": [{"succeededIndexes": "0-3"}]}),
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-3": error parsing succeededIndexes: '
        'too large index: "3"',
    ),
    (
        job("a" * 62, completionMode="Indexed", completions=11),
        f'metadata.name: Invalid value: "{"a" * 62}": '
        f"will not able to create pod with invalid DNS label: {'a' * 62}-10",
    ),
    (cron_job(""), "spec.schedule: Required value"),
    (
        cron_job("* * * *"),
        'spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]',
    ),
    (
        cron_job("0 0 * * 7"),
        'spec.schedule: Invalid value: "0 0 * * 7": end of range (7) above maximum (6): 7',
    ),
    (
        cron_job("TZ=UTC 0 0 * * *"),
        'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, '
        "use timeZone field instead",
    ),
    (
        cron_job(timeZone="Local"),
        'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in '
        "https://www.iana.org/time-zones",
    ),
    (
        cron_job(concurrencyPolicy="Never"),
        'spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace"',
    ),
    (
        cron_job(job_spec={"selector": {"matchLabels": {"app": "a"}}}),
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"app":"a"}}: `selector` will be auto-generated',
    ),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[text.partition(": ")[0] for _, text in REFUSED])
def test_a_workload_is_refused_with(value, message):
    assert message in errors_of(value)


@pytest.mark.parametrize(
    "value",
    [
        workload("Deployment", replicas=0, strategy={"type": "Recreate"}),
        workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0}}),
        workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0}}),
        workload("DaemonSet", updateStrategy={"type": "OnDelete"}),
        workload("StatefulSet", updateStrategy={"type": "OnDelete"}, podManagementPolicy="Parallel"),
        # The API server drops the field: its gate MaxUnavailableStatefulSet is off by default.
        workload("StatefulSet", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}),
        job(parallelism=3, completions=2, backoffLimit=0),
        job(completionMode="Indexed", completions=3, backoffLimitPerIndex=1, maxFailedIndexes=2),
        job(selector={"matchLabels": {"app": "a"}}, manualSelector=True),
        cron_job("@daily", timeZone="Europe/Berlin", suspend=True),
        cron_job("0-30/10,45 8-18 * jan-mar mon-fri"),
    ],
)
def test_a_sound_workload_is_accepted(value):
    assert errors_of(value) == []


def test_claim_templates_are_volumes_of_the_pod():
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": spec}]
    inner = template({"containers": [container]})
    assert errors_of(workload("StatefulSet", template=inner, volumeClaimTemplates=claims)) == []
    assert errors_of(workload("StatefulSet", template=inner)) == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'
    ]


def test_the_places_of_other_volumes_hold_beside_claim_templates():
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    inner = template(POD | {"volumes": [{"name": "ok"}, {"name": "Bad"}]})
    claims = [{"metadata": {"name": "data"}, "spec": spec}]
    (cause,) = validate(workload("StatefulSet", template=inner, volumeClaimTemplates=claims)).causes
    assert cause.path == ("spec", "template", "spec", "volumes", 1, "name")


def test_a_job_takes_over_the_labels_of_its_template_and_adds_its_own():
    # pkg/apis/batch/v1/defaults.go: obj.Labels = labels, the same map to which generateSelector adds.
    causes = validate(job("a" * 64)).causes
    fields = [cause.field for cause in causes]
    assert {cause.path for cause in causes} == {("metadata", "name")}
    assert sorted(set(fields)) == ["metadata.labels", "spec.template.labels"]
    assert fields.count("metadata.labels") == fields.count("spec.template.labels") == 2


def test_a_job_read_from_a_cluster_brings_the_labels_of_its_selector():
    value = job()
    value["metadata"]["uid"] = uid = "95052288-f609-11e8-aa53-42010a80021b"
    labels = {"controller-uid": uid, "job-name": "a"}
    value["spec"] |= {"template": template(NEVER, **labels), "selector": {"matchLabels": {"controller-uid": uid}}}
    assert errors_of(value) == []


def test_a_cron_job_leaves_room_for_the_suffix_of_its_jobs():
    value = cron_job()
    value["metadata"]["name"] = "a" * 53
    assert errors_of(value) == [f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters']


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("25%", 25), ("3", 3), ("abc", 0), ("-5%", 0), ("-5", -5)])
def test_the_number_in_an_int_or_percentage(value, number):
    assert amount(value) == number
