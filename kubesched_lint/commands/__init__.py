"""One folder for each thing that a user can ask for; nothing below imports them.

Read ``lint`` and ``simulate`` first: the others are built like them.
"""
