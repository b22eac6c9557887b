"""The command ``fit``: how many more pods of one kind find a node, and what stops the next one."""
