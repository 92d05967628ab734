"""Degraded and synthetic speech to train and measure on: `python -m tools.degraded_speech` (see __main__.py)."""
