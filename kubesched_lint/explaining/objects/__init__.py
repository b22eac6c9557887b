"""Objects that a workload needs: refused by the API server, missing, or created too late."""
