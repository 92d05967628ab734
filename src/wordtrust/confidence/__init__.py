"""Confidences: features of arcs, the lattice RNN without torch, calibration, shipped models."""
