"""The state of some workloads at one moment, as counts: what a search meets twice, it knows."""
