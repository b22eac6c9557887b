"""Where an event begins: the setting, who can affect whom, and what quotas, preemption and revisions allow."""
