"""What proofs about a scenario assume, as sentences: of nodes and pods, of devices, of webhooks."""
