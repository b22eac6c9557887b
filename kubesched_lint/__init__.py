"""kubesched-lint: will every pod of these manifests find a node?"""
