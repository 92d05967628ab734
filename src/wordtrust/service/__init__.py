"""What this machine serves to its own browser: `wordtrust view`.

view             a transcript with its audio: the page, the sound, its waveform, and what a person changes
viewed_audio     which audio belongs to a transcript
sound            sound for a browser: ranges of a file, or of the WAV that it is decoded to
peaks            the waveform of a stretch
loopback         the server: this machine only, a secret address, Ctrl-C
"""
