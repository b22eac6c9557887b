"""The nodes that pools can make: one template per pool, zone, machine shape and choice of labels."""
