"""What ``lint`` does with its arguments. Read ``linting``; it calls the others."""
