"""Reads the configuration of kube-scheduler: KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1."""
