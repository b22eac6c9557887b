"""Where objects come from: files of manifests, clusters read from files or live, what Flux and Argo CD apply."""
