"""Words that reports share: of verdicts, of premises, and of explanations."""
