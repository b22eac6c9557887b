"""``why``: one decision of the scheduler, node by node."""
