"""Makers of what the package ships: bundled sample data, shipped models. Not part of the wheel."""
