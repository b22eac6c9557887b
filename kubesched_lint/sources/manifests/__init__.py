"""Read files into documents, and documents into values with known positions."""
