"""1-best output of recognizers and speech services: JSON with words, times and confidences; subtitles; plain text.

whisper, vosk, sherpa, nemo, google, amazon, azure, deepgram, assemblyai    where each keeps its words
srt, vtt, plain_text, cues                                    subtitles and transcripts that people read
json_documents                                                JSON, checked, and recognised by its keys
recognized, lattices                                          recognized words become linear lattices
alternatives                                                  branches beside them, where a service gives some
service_errors                                                answers that say only what went wrong
"""
