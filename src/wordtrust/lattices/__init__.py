"""The lattice and what is computed on it.

lattice, vocabulary     the data type: utterances as flat arrays, and their strings
assemble, graph         the only door into it: raw lattices are normalised, checked and ordered
text                    how words are normalised and put together again
weights, posterior      scores weighed together; forward-backward, pruning
paths, path_kernels     best paths by every decoding criterion
kbest                   the k best word sequences
draw                    pictures
"""
