"""What losses of nodes leave: ``taken``, the most pods that one takes; ``unreachable``, if the Node objects stay."""
