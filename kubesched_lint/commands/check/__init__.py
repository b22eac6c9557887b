"""``check``: judge exactly what applying manifests to a live cluster starts."""
