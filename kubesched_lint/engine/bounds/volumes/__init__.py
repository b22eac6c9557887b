"""The most pods that volumes let in: by where they are reached (``volume_constraints``), and by ``attach_limits``."""
