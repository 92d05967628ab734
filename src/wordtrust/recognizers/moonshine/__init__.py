"""Moonshine: its weights out of the published files, a beam search of our own, and times for every word."""
