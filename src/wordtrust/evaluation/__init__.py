"""How good words and confidences are: error rates, metrics that add up, tuned scales."""
