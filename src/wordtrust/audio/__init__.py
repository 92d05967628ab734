"""Sound: files of any kind and length in, pieces of speech of a bearable length out."""
