"""One module per kube-scheduler plugin, under the same names."""
