"""Running pods beside a workload: whose they are, which of them stay, and the room that they leave."""
