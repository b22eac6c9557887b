"""A cluster as the scheduler sees it: nodes, pods and volumes, indexed once, and the state that pods change."""
