"""Claims, volumes and classes: ``storage`` by name, ``free_volumes`` by what a claim may take."""
