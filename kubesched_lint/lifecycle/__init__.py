"""What happens when: events over workload controllers."""
