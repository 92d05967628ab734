"""Moonshine: its published weights in float, a beam search of our own, and times for every word."""
