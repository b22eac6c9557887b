"""What the scheduler sees, in Kubernetes' own nouns."""
