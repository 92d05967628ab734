"""Review to a target: what to listen to, in which order, and when enough is checked.

items      words and gaps of transcripts with times and expected errors; what a reviewer has found
stretches  what is played at a time, ordered by expected errors for each second of listening
promise    how sure it is that few enough errors are left
page_plan  all of it as the script of the page needs it; for files and the command line it is `transcripts.plan`
"""
