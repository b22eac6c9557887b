"""``verify``: compare our predictions with recorded decisions, admissions, lifecycles and deployments."""
