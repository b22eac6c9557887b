"""Cards: the rules' texts, parameters and executed examples.

Read ``rule`` and ``cards``, then ``loading``, ``library`` and ``examples``.
"""
