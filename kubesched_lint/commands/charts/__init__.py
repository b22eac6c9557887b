"""Pull the charts of releases."""
