"""What `transcribe` makes of clips whose words are known: one row a recognizer, as Markdown.

    python -m experiments.clips_table CLIPS REFS.tsv moonshine whisper=FOLDER moonshine,whisper=FOLDER ...

Word error rates of the recognizer's own words and of the output, and NCE: of the recognizer's own score of a word
(the exponential of its log-probability, where it gives one), and of the confidence that is shown.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.listing import SUFFIXES
from wordtrust.base.table import Table
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats.references import References, read_references
from wordtrust.lattices.text import DEFAULT
from wordtrust.networks.align import align_all
from wordtrust.transcription.transcriber import Transcriber, recordings

COLUMNS = ("recognizer", "its own WER", "NCE of its scores", "WER of the output", "NCE of the confidences")

ScoredWords = list[tuple[str, float | None]]  # normalised, with a score


def own_words(line: str, pick: str) -> ScoredWords:
    """What a recognizer would print, with its own scores."""
    record = json.loads(line)
    if "nbest" not in record:
        return []
    hypothesis = record["nbest"][record.get("best_avg", 0) if pick == "average" else 0]
    logprobs = [token.get("logprob") for token in hypothesis["words"]]
    scores = [None if logprob is None else math.exp(logprob) for logprob in logprobs]
    pairs = zip(hypothesis["words"], scores, strict=True)
    return [(word, score) for token, score in pairs for word in DEFAULT.words(token["word"])]


def hear(spec: str, clips: list[Path]) -> tuple[list[ScoredWords], list[ScoredWords]]:
    """The first recognizer's own words, and those of the output, for every clip."""
    own: list[ScoredWords] = []
    ours: list[ScoredWords] = []
    with Transcriber(spec.split(",")) as transcriber:
        for clip in clips:
            [recording] = recordings([AudioFile.open(clip)])
            segments, pick = list(transcriber.recognize(recording)), transcriber.identities[0].pick
            own.append([word for segment in segments for word in own_words(segment.lines[0], pick)])
            transcripts = [transcriber.transcript(recording, segment) for segment in segments]
            ours.append([(word.norm, word.confidence) for transcript in transcripts for word in transcript.words])
    return own, ours


def figures(words: list[ScoredWords], spoken: list[tuple[str, ...]]) -> list[str]:
    """Error rate in %, and NCE where there are scores."""
    aligned = align_all(spoken, [[word for word, _ in clip] for clip in words])
    rate = 100 * aligned.counts[:, 1:].sum() / sum(map(len, spoken))
    scores = [score for clip in words for _, score in clip]
    if not scores or None in scores:
        return [f"{rate:.2f}", ""]
    confidences = np.array(scores, np.float64)
    return [f"{rate:.2f}", f"{Scores.of(confidences, aligned.correct).metrics().nce:.3f}"]


def row(spec: str, clips: list[Path], references: References) -> tuple[str, ...]:
    """The figures of one recognizer."""
    own, ours = hear(spec, clips)
    spoken = [references[clip.stem].words for clip in clips]
    return (spec, *figures(own, spoken), *figures(ours, spoken))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("references", type=Path)
    parser.add_argument("recognizers", nargs="+")
    given = parser.parse_args()
    clips = sorted(file for file in given.clips.iterdir() if file.suffix in SUFFIXES)
    references = read_references(given.references)
    rows = tuple(row(spec, clips, references) for spec in given.recognizers)
    print(Table("Clips", COLUMNS, rows).to_markdown())


if __name__ == "__main__":
    main()
