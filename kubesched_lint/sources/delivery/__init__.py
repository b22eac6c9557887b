"""What GitOps controllers apply from a repository: entry points, what they reach, and how each part is built."""
