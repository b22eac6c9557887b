"""The matrix of ``simulate`` as text, and the pictures beside it."""
