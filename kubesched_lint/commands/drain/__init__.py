"""The command ``drain``: waves of nodes to drain one after another, or what makes that impossible."""
