"""One folder for each thing that a user can ask for; nothing below imports them."""
