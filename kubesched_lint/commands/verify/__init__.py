"""``verify``: our predictions against recorded decisions, admissions and lifecycles."""
