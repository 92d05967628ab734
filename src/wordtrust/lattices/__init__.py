"""The lattice, and what is computed on it: normalised text, weights, posteriors, best paths, drawing."""
