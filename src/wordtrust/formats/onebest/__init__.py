"""1-best output of recognizers and speech services that comes as JSON: words with times and confidences.

whisper, vosk, sherpa, nemo, google, amazon, azure, deepgram, assemblyai    where each keeps its words
json_documents                                                JSON, checked, and recognised by its keys
recognized, lattices                                          recognized words become linear lattices
alternatives                                                  branches beside them, where a service gives some
service_errors                                                answers that say only what went wrong
"""
