"""Audio to transcripts.

transcriber, online_scorer    one recording: segments, recognizers, confidences as they come
transcription_job             recordings to files: `wordtrust transcribe`
corpus_job, manifest          a corpus to a store of lattices: `wordtrust recognize`
"""
