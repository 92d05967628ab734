"""From audio to transcripts with word confidences, and from corpora of audio to stores of lattices."""
