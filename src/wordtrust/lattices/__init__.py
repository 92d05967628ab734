"""The lattice and what is computed on it: assembly, text, weights, posteriors, best paths, drawing."""
