"""CTC models by transformers: an exact prefix beam search over their logits."""
