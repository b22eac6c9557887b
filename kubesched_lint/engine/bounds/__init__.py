"""Bounds by counting, valid for every scheduler and every order: the most and the least pods that run in the end.

Read ``bounds``, the most pods, with a module for each reason that needs one (``spread``, ``affinity``,
``volumes``, ``devices``); then ``least``, ``losses``, ``counted`` and ``counting``.
"""
