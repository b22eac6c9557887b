"""``lint --fix`` and ``--diff``: which changes of the files mend findings."""
