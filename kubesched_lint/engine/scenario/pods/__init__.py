"""The labels of pods, and the workloads whose pods a term selects."""
