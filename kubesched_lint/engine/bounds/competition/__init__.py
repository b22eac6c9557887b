"""Who may take the room of a pod, and how many nodes they can fill."""
