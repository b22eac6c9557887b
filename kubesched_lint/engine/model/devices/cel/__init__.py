"""The language of selectors of devices: CEL with Kubernetes' functions, by cel-cpp (``cel-expr-python``)."""
