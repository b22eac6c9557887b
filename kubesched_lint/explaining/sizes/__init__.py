"""The lines that set how many pods a workload wants, and how large they are."""
