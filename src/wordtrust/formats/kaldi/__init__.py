"""Kaldi lattices: text, binary, archives and script files."""
