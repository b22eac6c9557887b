"""From arguments to a call. Read ``invocation``, ``ordinary`` (``lint`` without Typer), ``parser``, ``options``."""
