"""The answers about one event for one workload: bounds by counting, and the cell of the matrix."""
