"""Transcripts: words with times, confidences and alternatives, and a writer for each format.

transcript, utterance, words, alternatives    the data
writer    files by their ending: plain_text, json_writer, ctm_writer, parquet_writer, subtitles, page
reader    our own files as transcripts, and those of others that have confidences; converting
table     words as rows: .parquet, data frames
terminal, notebook    what is shown at once
page      the HTML page: markup, style (of all our pages), script
"""
