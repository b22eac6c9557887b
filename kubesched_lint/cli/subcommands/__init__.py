"""One module for each command, imported when the user calls it: options, help and examples, no judgement."""
