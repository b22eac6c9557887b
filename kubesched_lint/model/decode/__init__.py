"""From plain values to the model, as the API server would default them."""
