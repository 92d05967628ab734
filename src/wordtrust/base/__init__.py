"""What every room stands on: errors, files written whole, journals, checked JSON, compiled kernels."""
