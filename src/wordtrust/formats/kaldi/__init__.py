"""Kaldi lattices: text and binary archives, files of one lattice, and script files.

text, text_kernels        CompactLattice and Lattice as text; the parser
binary, binary_kernels    the same in binary; OpenFst's bytes
scp                       lists of utterances and where their lattices are
write                     text archives with their symbol table
lattices, close_kernels   what all readers share: from arcs and final weights to checked lattices
"""

from . import binary, scp, text

FORMATS = (text.FORMAT, binary.FORMAT, scp.FORMAT)
