"""Audio to transcripts: recordings, corpora, manifests."""
