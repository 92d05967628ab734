"""Research drivers: ablations, domain shift, tables over shared data. Not part of the wheel."""
