"""Transcripts: words with times, confidences and alternatives, and a writer for each format.

transcript, words, alternatives    the data
writer                             files by their ending; json_writer, ctm_writer, parquet_writer, subtitles, page
terminal, notebook                 what is shown at once
page_style                         colours and style sheet of all HTML pages
"""
