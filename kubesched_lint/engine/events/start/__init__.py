"""Where an event begins: the set, who can affect whom, and what quotas, preemption and revisions allow."""
