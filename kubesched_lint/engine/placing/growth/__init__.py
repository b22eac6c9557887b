"""What autoscalers add for a set."""
