"""Review to a target: what to listen to, in which order, and when enough is checked.

items      words and gaps of transcripts with times and expected errors; what a reviewer has found
stretches  what is played at a time, ordered by expected errors for each second of listening
promise    how sure it is that few enough errors are left
plan       all of it for files and people
"""
