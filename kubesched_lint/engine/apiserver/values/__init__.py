"""Values that the API server checks wherever they stand: names, labels, quantities, types of fields."""
