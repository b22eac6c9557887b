"""What may happen next in a state: the scheduler binds or evicts, a controller acts, a node leaves."""
