"""How evenly pods stand: ``skews`` simulates it, ``grouping`` chooses the key of a picture."""
