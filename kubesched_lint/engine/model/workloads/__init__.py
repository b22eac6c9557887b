"""Controllers that create pods (``workload``), and what may change the requests of these pods (``vertical``)."""
