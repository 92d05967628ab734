"""Transcripts: words with times, confidences and alternatives, and one writer for each file format."""
