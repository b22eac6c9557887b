"""The devices of a scenario, and how they are followed over time."""
