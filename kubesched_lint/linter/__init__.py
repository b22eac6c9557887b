"""From a manifest set and a cluster to judged, worded and suppressed findings."""
