"""One module a rule that can mend what it finds, named after its card; imported when somebody asks for fixes.

``fixes(hazard, subject, facts)`` yields remedies, the best first. ``subject`` is the workload, or the document for
rules over documents. The engine takes the first that can be written and that re-linting shows to help and not to harm.
"""
