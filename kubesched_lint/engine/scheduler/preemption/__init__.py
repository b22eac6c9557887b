"""Who may evict whom (``eviction``), and whom the scheduler evicts for a pod that fits nowhere (``preemption``)."""
