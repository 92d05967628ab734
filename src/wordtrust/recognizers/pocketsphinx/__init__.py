"""PocketSphinx: its lattices, with the language scores that it leaves out."""
