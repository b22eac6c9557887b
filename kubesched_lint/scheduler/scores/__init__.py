"""The score plugins of kube-scheduler, under the same names.

DynamicResources scores zero unless a claim has prioritised alternatives (``firstAvailable``), which we do not read.
VolumeBinding scores nothing while the feature gate StorageCapacityScoring is off, as by default up to 1.36: its
``scorer`` is nil (``volumebinding/volume_binding.go``). From 1.37 on it prefers nodes by the free capacity that a
driver publishes for new volumes, which we leave out.
"""
