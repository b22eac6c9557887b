"""The pipeline from documents and cluster to a report."""
