"""CTC models of transformers, by a prefix beam search with exact scores."""
