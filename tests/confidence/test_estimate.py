"""Estimates of whole outputs: sums, intervals, drift with its rate of false alarms, and manifests of choices."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.output_words import drawn_output
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.drift import drift, holm
from wordtrust.confidence.estimate import (
    Estimate,
    Estimates,
    estimates_of,
    known_of,
    named_model,
)
from wordtrust.confidence.estimation.accepted import AcceptedPrecision, accepted_precisions, accepting
from wordtrust.confidence.estimation.error_estimator import ErrorEstimator
from wordtrust.confidence.estimation.held_out import KnownOfOutputs
from wordtrust.confidence.estimation.utterances import KeptUtterance, OutputUtterances, output_utterances
from wordtrust.confidence.lm_part import LanguageModelPart
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.shipped import folder_of
from wordtrust.formats.speakers import read_speakers
from wordtrust.study.estimation import estimation_record
from wordtrust.transcription.selection import candidates, read_lines, to_label, under, write_selection
from wordtrust.transcripts.reader import convert_transcripts, transcript_sources
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Word

KNOWN = KnownOfOutputs(ErrorEstimator.fit(drawn_output(np.random.default_rng(1), 60)))


def said(utt: str, *confidences: float) -> Transcript:
    words = (Word(f"w{n}", f"w{n}", float(n), n + 0.5, c) for n, c in enumerate(confidences))
    return Transcript(utt, tuple(words))


def spoken(generator: np.random.Generator, speakers: int, *, harder: float = 0.0) -> list[KeptUtterance]:
    output = drawn_output(generator, speakers, most_utterances=3)
    logit = np.log(output.confidence / (1 - output.confidence)) - harder
    confidence = 1 / (1 + np.exp(-logit))
    return [
        KeptUtterance(f"u{n}", "f", name, "text", 0.0, 4.0, tuple(confidence[first:last].tolist()), None, ("a",))
        for n, (name, first, last) in enumerate(
            zip(output.speakers, output.offsets[:-1], output.offsets[1:], strict=True)
        )
    ]


def made(utterances: list[KeptUtterance]) -> Estimates:
    return estimates_of(utterances, KNOWN)


def test_transcripts_that_a_language_model_read_are_estimated_by_what_is_known_of_these(tmp_path: Path) -> None:
    """By the shipped model itself, which has an estimator for both."""
    lm, words = "SmolLM2-135M-Instruct", [said("a", 0.9, 0.6, 0.99), said("b", 0.7, 0.99)]
    folder = folder_of("whisper-small")
    part = LanguageModelPart.load(folder, load_model(folder))
    assert part is not None
    assert part.language_model.name == lm
    with_lm, plain = known_of("whisper-small", lm), known_of("whisper-small")
    assert (with_lm.accept, with_lm.estimator is None) == (KnownOfOutputs.of_model(part.card).accept, False)
    assert with_lm.accept != plain.accept
    found: dict[str, Estimate] = {}
    readers: dict[str, dict[str, str]] = {"read": {"language_model": lm}, "other": {"language_model": "3gram"}}
    for name, about in (readers | {"plain": {}}).items():
        for ending in ("json", "jsonl", "parquet"):
            path = tmp_path / f"{name}.{ending}"
            Transcripts(words, about={"models": ["whisper-small"], **about}).save(path)
            corpus = wt.estimate(path).corpus
            assert found.setdefault(name, corpus) == corpus
            assert wt.estimate(path, "whisper-small").corpus == corpus
    estimator = ErrorEstimator.from_dict(part.card.error_estimator)
    expected = estimator.expected(Estimates([*output_utterances(words, "", None)], estimator).output)
    assert found["read"].deletions == pytest.approx(expected.deletions.sum(), rel=1e-4)
    assert found["read"].deletions != pytest.approx(found["plain"].deletions, rel=1e-3)
    assert (found["other"].deletions, found["other"].interval) == (found["read"].deletions, None)
    assert None not in (found["read"].interval, found["plain"].interval)
    with pytest.raises(OptionError, match=f"some are with {lm}, without"):
        wt.estimate([tmp_path / "read.json", tmp_path / "plain.json"])
    convert_transcripts(
        transcript_sources([tmp_path / "plain.jsonl", tmp_path / "read.jsonl"]), tmp_path / "all.json"
    )
    with pytest.raises(OptionError, match=f"some are without, with {lm}"):
        wt.estimate(tmp_path / "all.json")


def test_a_larger_promise_than_was_asked_for_is_told() -> None:
    rule = AcceptedPrecision(0.9, 0.5, 0.8, 0.95, 60)
    assert rule.told(0.9) == rule.promise
    assert (
        rule.told(0.3) == f"{rule.promise} (30% was asked for; this is the next that the model has a threshold for)"
    )


def test_groups_are_sums_of_utterances() -> None:
    heard = [said("a", 0.9, 0.5), said("b", 0.2), said("a", 1.0), said("c")]
    utterances = [*output_utterances(heard, "f", {"b": "anna", "a": "anna"})]
    estimates = made(utterances)
    assert [each.name for each in estimates.speakers] == ["anna", "c"]
    assert [each.name for each in estimates.recordings] == ["a", "b", "c"]
    for groups in (estimates.speakers, estimates.recordings, estimates.files, [estimates.corpus]):
        for kind in ("words", "substitutions", "insertions", "deletions", "reference_words", "utterances"):
            total = sum(getattr(each, kind) for each in groups)
            assert total == pytest.approx(sum(getattr(each, kind) for each in estimates.utterances))
    corpus = estimates.corpus
    assert corpus.interval is not None
    assert corpus.interval[0] <= corpus.wer <= corpus.interval[1]
    assert json.loads(json.dumps(estimates.to_dict()))["corpus"]["speakers"] == 2
    backwards = made(utterances[::-1])
    assert backwards.corpus.wer == pytest.approx(corpus.wer)


@pytest.mark.parametrize("unknown", [None, 0, 7])
def test_transcripts_that_are_held_have_the_estimates_of_a_stream(unknown: int | None) -> None:
    """All words at once, or one utterance after the other."""
    generator = np.random.default_rng(5)
    heard = [
        Transcript(
            f"u{n % 9}",
            tuple(
                Word(f"w{k}", f"w{k}", float(k), k + 0.5, float(generator.uniform(0, 1.01)), (), False, gap)
                for k, gap in enumerate(generator.random(n % 4).tolist())
            ),
            missing_end=None if n == unknown else generator.random(),
        )
        for n in range(12)
    ]
    who = {"u1": "anna", "u2": "anna"}
    held, streamed = OutputUtterances.of_transcripts(heard, "f", who), [*output_utterances(heard, "f", who)]
    one_by_one = OutputUtterances.of(streamed).words
    assert [*held] == streamed
    assert held[1:3] == streamed[1:3]
    assert held.words.speakers == one_by_one.speakers
    assert held.words.offsets.tolist() == one_by_one.offsets.tolist()
    assert held.words.confidence.tolist() == one_by_one.confidence.tolist()
    assert (held.words.missing is None, one_by_one.missing is None) == (unknown is not None, unknown is not None)
    if held.words.missing is not None:
        assert held.words.missing == pytest.approx(one_by_one.missing, rel=1e-14)
    at_once = estimates_of(held, KNOWN)
    assert at_once.to_dict() == made(streamed).to_dict()
    assert at_once.utterances == made(streamed).utterances == tuple(at_once.utterances)
    assert at_once.utterances != made(streamed[::-1]).utterances
    with pytest.raises(TypeError, match="not of str"):
        OutputUtterances.of_transcripts(["a"], "f")  # type: ignore[list-item]  # on purpose


def test_gaps_of_transcripts_count() -> None:
    word = Word("w", "w", 0.0, 1.0, 1.0, missing_before=0.25)
    known = KnownOfOutputs(ErrorEstimator(deletions_in_gaps=(0.5, 2.0)))
    with_gaps = [*output_utterances([Transcript("a", (word,), missing_end=0.5)], "f")]
    assert estimates_of(with_gaps, known).corpus.deletions == pytest.approx(2 * math.exp(0.5) * (0.77 / 2) ** 2)
    assert next(output_utterances([Transcript("a", (word,))], "f")).missing is None


def test_a_model_without_an_estimator_counts_wrong_words_and_says_so(tmp_path: Path) -> None:
    heard = Transcripts([said("a", 0.75, 0.5)], about={"models": ["nowhere"]})
    estimates = estimates_of([*output_utterances(heard, "f")], KnownOfOutputs())
    assert (estimates.corpus.deletions, estimates.corpus.interval) == (0.0, None)
    assert estimates.corpus.wer == pytest.approx(0.75 / (2 - 0.125 * 0.75))
    assert len(estimates.warnings) == 2
    with pytest.raises(OptionError, match="which is not here"):
        wt.estimate(heard)
    with pytest.raises(OptionError, match="name no model"):
        named_model([])
    assert named_model(["joint"]) == "joint"
    (tmp_path / "a.ctm").write_text("a 1 0 1 word 0.5\n")
    with pytest.raises(InputError, match="another program"):
        wt.estimate(tmp_path / "a.ctm")


def test_no_change_is_seldom_taken_for_one_and_a_change_is_seen() -> None:
    """60 pairs without a change at the level of 90%: six false alarms are expected at most; 12 have 1%."""
    generator = np.random.default_rng(2)
    alarms = 0
    for _ in range(60):
        found = drift(made(spoken(generator, 20)), made(spoken(generator, 25)), level=0.9)
        assert found is not None
        alarms += bool(found.changed)
    assert alarms < 12
    shifted = drift(made(spoken(generator, 40, harder=1.0)), made(spoken(generator, 40)))
    assert shifted is not None
    assert {"wer", "confidence", "distribution"} <= set(shifted.changed)
    assert shifted.measures["wer"].interval[0] > 0
    assert "words_per_utterance" not in shifted.changed
    assert "unknown" not in shifted.measures
    assert drift(made(spoken(generator, 1)), made(spoken(generator, 5))) is None
    known = drift(made(spoken(generator, 5)), made(spoken(generator, 5)), vocabulary={"b"})
    assert known is not None
    assert known.measures["unknown"].new > 0


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])


def test_selection_keeps_what_manifests_hold(tmp_path: Path) -> None:
    nemo = {"audio_filepath": "a.wav", "duration": 30.0, "lang": "en"}
    cut = {"id": "b", "start": 0, "duration": 60.0, "type": "MonoCut", "supervisions": [{"id": "b-0", "text": ""}]}
    supervision = {"id": "c", "recording_id": "r", "start": 1, "duration": 30.0, "text": "mine", "custom": {"x": 1}}
    manifest = tmp_path / "in.jsonl"
    manifest.write_text("".join(json.dumps(line) + "\n" for line in (nemo, cut, supervision)))
    estimates = made([*output_utterances([said("a", 1, 1), said("b", 0.1, 0.1), said("c", 0.9, 0.8)], "f")])
    listed = candidates(estimates, read_lines(manifest))
    assert [each.utt for each in to_label(listed, 1.0)] == ["b"]
    assert [each.utt for each in under(listed, 0.5)] == ["a", "c"]
    write_selection(tmp_path / "out.jsonl", to_label(listed, 9.0))
    first, second, third = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["supervisions"], "text" in third) == (cut["supervisions"], False)  # nobody has labelled them
    assert (second["text"], third["pred_text"]) == ("mine", "w0 w1")
    write_selection(tmp_path / "out.jsonl", under(listed, 9.0))
    first, second, third = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert {**first, **nemo} == first
    assert (first["text"], first["pred_text"]) == ("w0 w1", "w0 w1")
    assert second["supervisions"] == [{"id": "b-0", "text": "w0 w1"}]
    assert second["custom"]["wer_estimate"] > 0.5
    assert (third["text"], third["custom"]["x"], third["custom"]["pred_text"]) == ("mine", 1, "w0 w1")
    bare = {**cut, "channel": 0, "supervisions": [], "recording": {"id": "r"}}
    write_selection(
        tmp_path / "out.jsonl", under([replace(each, line=bare) for each in listed if each.utt == "b"], 9.0)
    )
    (made_up,) = json.loads((tmp_path / "out.jsonl").read_text())["supervisions"]
    whole = {"id": "b", "recording_id": "r", "start": 0.0, "duration": 60.0, "channel": 0, "text": "w0 w1"}
    assert made_up == whole  # a cut without any gets one of its own
    (tmp_path / "bad.jsonl").write_text('{"duration": 1}\n')
    with pytest.raises(InputError, match="line 1"):
        read_lines(tmp_path / "bad.jsonl")


def test_who_spoke(tmp_path: Path) -> None:
    (tmp_path / "utt2spk").write_text("a anna\nb bert\n")
    (tmp_path / "refs.tsv").write_text("utt\ttext\tspeaker\na\tx y\tanna\nb\tz\t\n")
    assert read_speakers(tmp_path / "utt2spk") == {"a": "anna", "b": "bert"}
    assert read_speakers(tmp_path / "refs.tsv") == {"a": "anna", "b": "b"}
    (tmp_path / "bad").write_text("a anna\na bert\n")
    with pytest.raises(InputError, match="two speakers"):
        read_speakers(tmp_path / "bad")


def test_accepted_words_are_marked_everywhere(tmp_path: Path) -> None:
    rule = AcceptedPrecision(0.95, 0.8, 0.7, 0.95, 1000)
    marked = Transcripts([said("a", 0.85, 0.6, 0.3).accepting(rule.threshold)], about={"accept": rule.about})
    assert [word.accepted for word in marked.words] == [True, False, False]
    assert marked[0].to_rich().plain == "w0 [w1] [?w2]"
    for ending in ("json", "jsonl", "parquet", "ctm", "html", "srt"):
        marked.save(tmp_path / f"a.{ending}")
    for ending in ("json", "jsonl", "parquet"):
        read = wt.read_transcripts(tmp_path / f"a.{ending}")
        assert [word.accepted for word in read.words] == [True, False, False]
    assert (tmp_path / "a.ctm").read_text().startswith(";; accepted words: confidence from 0.8 on; at least 95%")
    page = (tmp_path / "a.html").read_text()
    assert 'value="80"' in page
    assert rule.promise in page


def test_which_precision_is_accepted() -> None:
    generator = np.random.default_rng(3)
    known = accepted_precisions(drawn_output(generator, 500, off=0.0))
    assert [entry.precision for entry in known][:2] == [0.9, 0.95]
    assert [entry.threshold for entry in known] == sorted(entry.threshold for entry in known)
    assert accepting(known, 0.92, "m").precision == 0.95
    assert AcceptedPrecision.from_dict(known[0].to_dict()) == known[0]
    with pytest.raises(OptionError, match=r"99.9% cannot be promised for this model, at most"):
        accepting(known, 0.999, "m")
    with pytest.raises(OptionError, match="m: the model does not say"):
        accepting((), 0.9, "m")
    with pytest.raises(InputError, match="not from 0 to 1"):
        AcceptedPrecision.from_dict({**known[0].to_dict(), "threshold": 2})


def test_what_a_study_says_about_estimates() -> None:
    record = estimation_record(KNOWN, drawn_output(np.random.default_rng(4), 200))["estimation"]
    assert 0.8 < record["speakers"]["coverage"] < 0.98
    assert record["utterances"]["correlation"] > 0.4
    assert record["corpus"]["low"] < record["corpus"]["estimated"] < record["corpus"]["high"]
    assert record["corpus"]["estimated"] == pytest.approx(record["corpus"]["true"], rel=0.25)
    assert estimation_record(KnownOfOutputs(), None) == {}
