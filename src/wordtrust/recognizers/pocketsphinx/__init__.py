"""PocketSphinx, with true lattices that have the scores of its trigram language model."""
