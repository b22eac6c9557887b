"""What somebody meant who wrote a name that nothing has."""
