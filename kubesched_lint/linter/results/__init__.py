"""From a hazard to a finding. Read ``rule_results``, ``applies`` and ``yielding``."""
