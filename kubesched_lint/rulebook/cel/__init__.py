"""Rules without Python: what a card's expressions may ask, how they are checked, and how they are run."""
