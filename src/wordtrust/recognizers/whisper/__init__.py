"""Whisper by CTranslate2's beam search, with a pass of our own over the decoder for exact scores and times."""
