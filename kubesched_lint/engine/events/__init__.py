"""What happens over time: states, what may happen next, every end of an event.

Read ``states``, then ``transitions``, ``search`` and ``start``, in this order."""
