"""The claims and volumes of a scenario, and the nodes that reach them."""
