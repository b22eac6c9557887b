"""Cards: the rules' texts, parameters and executed examples."""
