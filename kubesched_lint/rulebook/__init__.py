"""Cards: the rules' words, parameters and executed examples."""
