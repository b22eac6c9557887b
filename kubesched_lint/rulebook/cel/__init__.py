"""Rules without Python: the facts for a card's expressions, and how expressions are checked and run."""
