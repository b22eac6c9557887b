"""The score plugins of kube-scheduler, under the same names.

DynamicResources scores zero unless a claim has prioritised alternatives (``firstAvailable``), which we do not read.
VolumeBinding scores nothing while the feature gate StorageCapacityScoring is off, as by default: its ``scorer`` is nil
(``volumebinding/volume_binding.go``, v1.36).
"""
