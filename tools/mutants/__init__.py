"""Mutation testing: small bugs, one at a time, and whether the tests notice (`make mutants`)."""
