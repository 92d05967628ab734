"""Plain Python readers that the fast ones are measured against."""
