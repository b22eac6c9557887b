"""What happens to pods: the objects of Kubernetes, the API server, the scheduler, the controllers, and verdicts.

It imports nothing else of this project, so that other tools can be built on it: see ``docs/engine.md``.

Read from the ground: ``base``, ``model``, ``apiserver``, ``admission``, ``cluster``, ``scheduler``, ``controllers``,
``scenario``, ``events``, ``bounds``, ``runs``, ``placing``, ``verdicts``.
"""
