"""All states in which an event may end, and one course that leads to each."""
