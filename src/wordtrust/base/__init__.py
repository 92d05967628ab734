"""What everything else uses: errors, atomic files, journals, checked JSON, compiled kernels, offsets."""
