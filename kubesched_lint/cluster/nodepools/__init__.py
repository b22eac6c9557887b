"""What pools can make: machine shapes, label values, and one template per pool, zone, shape and choice of labels."""
