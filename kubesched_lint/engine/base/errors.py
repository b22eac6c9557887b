"""What ends a question without an answer."""


class UncheckedError(Exception):
    """A check cannot judge this input; the text is the reason for which the rule counts as skipped."""
