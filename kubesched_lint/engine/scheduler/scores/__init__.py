"""The score plugins of kube-scheduler, under the same names.

DynamicResources scores zero where the state has no devices.
VolumeBinding scores nothing while the feature gate StorageCapacityScoring is off, as by default up to 1.36: its
``scorer`` is nil (``volumebinding/volume_binding.go``). From 1.37 on it prefers nodes by the free capacity that a
driver publishes for new volumes, which we leave out.
"""
