"""The fields of KubeSchedulerConfiguration v1 and of its plugins' arguments, in the codes of
``engine.apiserver.values.schema``.

Retells ``staging/src/k8s.io/kube-scheduler/config/v1/types.go`` and ``types_pluginargs.go`` (v1.36, and
``podGroupPostFilter`` of v1.37). The types of pods that they use, such as ``v1.NodeAffinity``, are those of the API.
"""

_META = "apiVersion=s kind=s "
_POINTS = (
    "preEnqueue queueSort preFilter filter postFilter preScore score reserve permit preBind bind postBind multiPoint "
    "placementGenerate placementScore podGroupPostFilter"
)
TYPES = {
    "v1.KubeSchedulerConfiguration": _META
    + "parallelism=i leaderElection=*v1alpha1.LeaderElectionConfiguration "
    + "clientConnection=*v1alpha1.ClientConnectionConfiguration enableProfiling=b enableContentionProfiling=b "
    + "percentageOfNodesToScore=i podInitialBackoffSeconds=l podMaxBackoffSeconds=l "
    + "profiles=[*v1.KubeSchedulerProfile extenders=[*v1.Extender delayCacheUntilActive=b",
    "v1alpha1.LeaderElectionConfiguration": "leaderElect=b leaseDuration=s:v1.Duration renewDeadline=s:v1.Duration "
    + "retryPeriod=s:v1.Duration resourceLock=s resourceName=s resourceNamespace=s",
    "v1alpha1.ClientConnectionConfiguration": "kubeconfig=s acceptContentTypes=s contentType=s qps=r burst=i",
    "v1.KubeSchedulerProfile": "schedulerName=s percentageOfNodesToScore=i plugins=*v1.Plugins "
    + "pluginConfig=[*v1.PluginConfig",
    "v1.Plugins": " ".join(f"{point}=*v1.PluginSet" for point in _POINTS.split()),
    "v1.PluginSet": "enabled=[*v1.Plugin disabled=[*v1.Plugin",
    "v1.Plugin": "name=s weight=i",
    "v1.PluginConfig": "name=s args=r",
    "v1.Extender": "urlPrefix=s filterVerb=s preemptVerb=s prioritizeVerb=s weight=l bindVerb=s enableHTTPS=b "
    + "tlsConfig=*v1.ExtenderTLSConfig httpTimeout=s:v1.Duration nodeCacheCapable=b "
    + "managedResources=[*v1.ExtenderManagedResource ignorable=b",
    "v1.ExtenderManagedResource": "name=s ignoredByScheduler=b",
    "v1.ExtenderTLSConfig": "insecure=b serverName=s certFile=s keyFile=s caFile=s certData=s keyData=s caData=s",
    "v1.DefaultPreemptionArgs": _META + "minCandidateNodesPercentage=i minCandidateNodesAbsolute=i",
    "v1.DynamicResourcesArgs": _META + "filterTimeout=s:v1.Duration bindingTimeout=s:v1.Duration",
    "v1.InterPodAffinityArgs": _META + "hardPodAffinityWeight=i ignorePreferredTermsOfExistingPods=b",
    "v1.NodeAffinityArgs": _META + "addedAffinity=*v1.NodeAffinity",
    "v1.NodeResourcesBalancedAllocationArgs": _META + "resources=[*v1.ResourceSpec",
    "v1.NodeResourcesFitArgs": _META
    + "ignoredResources=[s ignoredResourceGroups=[s scoringStrategy=*v1.ScoringStrategy",
    "v1.PodTopologySpreadArgs": _META
    + "defaultConstraints=[*v1.TopologySpreadConstraint "
    + "defaultingType=s:v1.PodTopologySpreadConstraintsDefaulting",
    "v1.VolumeBindingArgs": _META + "bindTimeoutSeconds=l shape=[*v1.UtilizationShapePoint",
    "v1.ScoringStrategy": "type=s:v1.ScoringStrategyType resources=[*v1.ResourceSpec "
    + "requestedToCapacityRatio=*v1.RequestedToCapacityRatioParam",
    "v1.RequestedToCapacityRatioParam": "shape=[*v1.UtilizationShapePoint",
    "v1.ResourceSpec": "name=s weight=l",
    "v1.UtilizationShapePoint": "utilization=i score=i",
}
