"""N-best lists: JSON records and plain text."""
