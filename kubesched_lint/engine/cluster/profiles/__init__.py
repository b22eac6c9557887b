"""The profiles of a KubeSchedulerConfiguration, with their plugins at each extension point."""
