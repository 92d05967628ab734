"""HTK's Standard Lattice Format."""
