"""Whisper by CTranslate2: its beam search, and our own pass over the decoder for exact scores and times."""
