"""N-best JSON: merging, scores, picks, evidence, times; properties of random lists."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nbest_records import Record, as_lines, hypothesis, read, records
from tests.helpers.reading import path_scores, paths_by_text, stream_of
from tests.helpers.shared import SAMPLES
from tests.helpers.strategies import all_paths
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.nbest.records import FORMAT, sniff
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.text import DEFAULT, Normalizer


def arcs(lattice: Lattice, path: Sequence[int]) -> list[tuple[str, float, float, float]]:
    """Surface, start, end and acoustic score along a path."""
    assert lattice.acoustic is not None
    return [
        (
            lattice.surfaces[arc],
            round(float(lattice.time[lattice.source[arc]]), 4),
            round(float(lattice.time[lattice.target[arc]]), 4),
            round(float(lattice.acoustic[arc]), 4),
        )
        for arc in path
    ]


@pytest.fixture(scope="module")
def sample() -> Lattices:
    return read((SAMPLES / "nbest" / "lists.jsonl").read_bytes())


def test_the_sample_by_hand(sample: Lattices) -> None:
    lattice = sample["ferry"]
    paths = paths_by_text(lattice)
    assert set(paths) == {"the ferry leaves", "the fairy leaves early", ""}
    # log(e^-1 + e^-1.6) = -0.5625: 0.1375 more than the words' -0.7 goes on the last arc.
    assert arcs(lattice, paths["the ferry leaves"]) == [
        ("", 0.0, 0.2, 0.0),
        ("The", 0.2, 0.5, -0.1),
        ("ferry", 0.5, 1.0, -0.3),
        ("leaves", 1.0, 1.5, -0.1625),
    ]
    # `early.` has no length: 10 ms, moving 1.4 as little as possible; then the 93 ms to the end become part of it.
    assert arcs(lattice, paths["the fairy leaves early"]) == [
        ("", 0.0, 0.2, 0.0),
        ("The", 0.2, 0.5, -0.1),
        ("fairy", 0.5, 1.0, -0.4),
        ("leaves", 1.0, 1.3967, -0.3),
        ("early.", 1.3967, 1.5, -0.4),
    ]
    assert arcs(lattice, paths[""]) == [("", 0.0, 1.5, -9.0)]
    assert lattice.transition is lattice.posterior is None
    assert sample.facts.spread_words.tolist() == [1, 0]
    assert sample.facts.place.tolist() == [1, 2]
    assert (sample.origin.format, sample.origin.times) == ("nbest", "given")


def test_evidence_by_hand(sample: Lattices) -> None:
    lattice = sample["ferry"]
    path = paths_by_text(lattice)["the fairy leaves early"]
    evidence = {name: values[path].round(4).tolist() for name, values in lattice.extra.items()}
    assert evidence == {
        "logprob": pytest.approx([0, -0.1, -0.4, -0.3, -0.3]),
        "tokens": [0, 1, 1, 1, 2],
        "least_token_logprob": pytest.approx([0, -0.1, -0.4, -0.3, -0.2]),
        "rank": [1] * 5,
        "share": [0.25] * 5,
        "eot_logprob": pytest.approx([-0.1] * 5),
        "empty_logprob": [-14.5] * 5,
        "length": [6] * 5,
    }
    merged = paths_by_text(lattice)["the ferry leaves"]
    assert lattice.extra["share"][merged].tolist() == [0.5, 0.5, 0.5, 0.5]
    assert lattice.extra["rank"][merged].tolist() == [0, 0, 0, 0]


def test_hyphens_dashes_and_gaps_by_hand(sample: Lattices) -> None:
    # "old-fashioned" and "old fashioned - mill." say the same, so there is one chain, with the better one's spelling.
    lattice = sample["mill"]
    (path,) = all_paths(lattice)
    total = math.log(math.exp(-0.9) + math.exp(-1.4))
    # 3 of 12 letters of "old-fashioned" (0.32 to 1.1 s) are "old"; the gap of 40 ms before it has its middle at 0.32.
    assert arcs(lattice, path) == [
        ("An", 0.0, 0.32, -0.1),
        ("old-\u2060", 0.32, 0.515, -0.4),
        ("fashioned", 0.515, 1.1, 0.0),
        ("", 1.1, 1.5, 0.0),
        ("mill", 1.5, 1.9, round(total + 0.5, 4)),
    ]
    assert lattice.text == "An old-fashioned mill"


@pytest.mark.parametrize(("pick", "text"), [(None, "The ferry leaves"), ("average", "The fairy leaves early.")])
def test_pick(pick: str | None, text: str) -> None:
    data = (SAMPLES / "nbest" / "lists.jsonl").read_bytes()
    assert read(data, options=ReadOptions(pick=pick))["ferry"].text == text


def test_the_picked_hypothesis_is_the_best_before_merging() -> None:
    # "b" twice has more probability together than "a", but "a" is what the recognizer prints.
    record = {"nbest": [{"text": "a", "score": -1.0}, {"text": "b", "score": -1.1}, {"text": "B.", "score": -1.1}]}
    lattice = read(record)[0]
    assert lattice.text == "a"
    assert path_scores(lattice)["b"] > path_scores(lattice)["a"]
    assert lattice.extra["rank"][paths_by_text(lattice)["a"]] == 0


def test_average_without_an_index_takes_the_best_average() -> None:
    hypotheses = [
        {"text": "a", "score": -1.0, "avg_logprob": -0.5},
        {"text": "b c", "score": -1.1, "avg_logprob": -0.4},
    ]
    options = ReadOptions(pick="average")
    assert read({"nbest": hypotheses}, options=options)[0].text == "b c"
    assert read({"nbest": hypotheses, "best_avg": 0}, options=options)[0].text == "a"
    del hypotheses[1]["avg_logprob"]
    with pytest.raises(InputError, match=r"nbest\[1\]\.avg_logprob is missing"):
        read({"nbest": hypotheses}, options=options)


def test_the_most_probable_variant_is_shown_wherever_it_stands() -> None:
    hypotheses = [
        hypothesis(-3, ("a", 0, 1, -3), avg_logprob=-0.1),
        hypothesis(-1, ("A!", 0, 2, -0.5), avg_logprob=-0.2),
        hypothesis(-2, ("b", 0, 2, -2), avg_logprob=-0.3),
    ]
    for pick in ("total", "average"):  # the best average is that of a variant which is not shown
        lattice = read({"nbest": hypotheses}, options=ReadOptions(pick=pick))[0]
        assert lattice.text == "A!"
        assert lattice.picked is not None
        assert np.flatnonzero(lattice.picked).tolist() == paths_by_text(lattice)["a"]
        total = math.log(math.exp(-3) + math.exp(-1))
        assert arcs(lattice, paths_by_text(lattice)["a"]) == [("A!", 0, 2, round(total, 4))]
        assert lattice.extra["logprob"][paths_by_text(lattice)["a"]] == -0.5


def test_the_shared_end_is_the_duration_or_the_latest_word() -> None:
    record: Record = {"nbest": [hypothesis(-1, ("a", 0, 1, -1)), hypothesis(-2, ("A", 0, 1.3, -2))]}
    assert read(record)[0].time[-1] == 1.3  # of the variant that was merged away, too
    assert read({**record, "duration": 4.5})[0].time[-1] == 4.5
    assert read({**record, "duration": 0.5})[0].time[-1] == 1.3


def test_tokens_that_are_no_words() -> None:
    marks = [("-", 0.5, 0.7, -0.1), ("a", 0.7, 1.0, -0.2), ("...", 1.0, 1.3, -0.3), ("[Music]", 1.3, 3.0, -0.4)]
    lattice = read({"nbest": [hypothesis(-2.0, *marks, ("b", 3.0, 3.5, -0.5))]})[0]
    # Both signs and the mark give their scores to "a", the signs their time as well; the music stays a pause.
    assert arcs(lattice, *all_paths(lattice)) == [
        ("", 0.0, 0.5, 0.0),
        ("a", 0.5, 1.3, -1.0),
        ("", 1.3, 3.0, 0.0),
        ("b", 3.0, 3.5, -1.0),
    ]
    assert lattice.extra["tokens"].tolist() == [0, 4, 0, 1]
    assert lattice.extra["least_token_logprob"].round(4).tolist() == pytest.approx([0, -0.4, 0, -0.5])
    only_marks = read({"nbest": [hypothesis(-2.0, marks[0], marks[3])]})[0]
    assert arcs(only_marks, *all_paths(only_marks)) == [("", 0.0, 3.0, -2.0)]


def test_texts_without_times_are_aligned() -> None:
    lattices = read((SAMPLES / "nbest" / "text-only.json").read_bytes())
    assert lattices.utts == ("7", "b")
    assert lattices.origin.times == "aligned"
    lattice = lattices["7"]
    assert [surface_times[:3] for surface_times in arcs(lattice, paths_by_text(lattice)["moored at new moon"])] == [
        ("", 0, 1),
        ("moored", 1, 2),
        ("at", 2, 3),
        ("new", 3, 3.5),
        ("moon", 3.5, 4),
    ]
    # No word has a score of its own, so all of it is on the last arc.
    assert arcs(lattice, paths_by_text(lattice)["we more at noon"])[-1] == ("noon", 3, 4, -3.25)
    assert set(lattice.extra) == {"rank", "share"}


def test_one_hypothesis_without_words_makes_all_aligned() -> None:
    lattices = read({"nbest": [hypothesis(-1, ("a", 0, 3, -1)), {"score": -2, "text": "a b"}], "duration": 9})
    assert lattices.origin.times == "aligned"
    assert lattices[0].time[-1] == 1.0


def test_aligned_along_the_best_that_has_words() -> None:
    lattice = read({"nbest": [{"score": -1, "text": ""}, {"score": -2, "text": "a b"}]})[0]
    assert lattice.time.tolist() == [0, 1, 2]
    assert lattice.text == ""


def test_words_without_log_probabilities() -> None:
    words = [{"word": "a", "start": 0, "end": 1}, {"word": "b", "start": 1, "end": 2}]
    lattice = read({"nbest": [{"score": -2.5, "words": words}]})[0]
    assert [score for *_, score in arcs(lattice, [0, 1])] == [0, -2.5]
    assert "logprob" not in lattice.extra


@pytest.mark.parametrize(
    ("token_logprobs", "counts"),
    [
        *((logprobs, (1, 1)) for logprobs in ([-0.1], [-0.1, -0.2, -0.3], None, "x", [-0.1, None])),
        *(([-0.1, -0.2], counts) for counts in ((0, 2), (0.5, 1.5), (3, -1))),
    ],
)
def test_tokens_that_do_not_fit_the_words_are_left_out(token_logprobs: Any, counts: tuple[float, float]) -> None:
    record = hypothesis(-1, ("a", 0, 1, -0.1), ("b", 1, 2, -0.2), token_logprobs=token_logprobs)
    for word, count in zip(record["words"], counts, strict=True):
        word["tokens"] = count
    assert set(read({"nbest": [record]})[0].extra) == {"logprob", "tokens", "length", "rank", "share"}


def with_tokens(**more: Any) -> Record:
    """`a b.` in three tokens."""
    record = hypothesis(-1, ("a", 0, 1, -0.1), ("b.", 1, 2, -0.5), token_logprobs=[-0.1, -0.2, -0.3], **more)
    record["words"][1]["tokens"] = 2
    return {"nbest": [record]}


def test_entropies_ranks_and_margins_of_tokens_become_those_of_words() -> None:
    record = with_tokens(token_entropies=[0.5, 1.5, 1], token_ranks=[0, 3, 1], token_margins=[2, 0.5, -1])
    lattice = read(record)[0]
    assert lattice.extra["token_entropy"].tolist() == [0.5, 1.5]
    assert lattice.extra["token_rank"].tolist() == [0, pytest.approx(math.log(4))]
    assert lattice.extra["token_margin"].tolist() == [2, -1]
    mixed = read([record, {**with_tokens(), "utt": "bare"}])
    assert np.isnan(mixed.extra["token_rank"][2:]).all()
    assert "token_rank" not in mixed["bare"].extra
    punctuation = hypothesis(-1, ("a", 0, 1, -0.1), (".", 1, 2, -0.5), token_entropies=[0.5, 2.0])
    assert read({"nbest": [punctuation]})[0].extra["token_entropy"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"token_entropies": [0.1, 0.2]}, r"nbest\[0\].token_entropies has 2 numbers, and its words have 3 tokens"),
        ({"token_ranks": "many"}, r"nbest\[0\].token_ranks has no numbers, and its words have 3 tokens"),
        ({"token_ranks": [0, -1, 2]}, r"token_ranks has -1.*from 0 on"),
        ({"token_entropies": [0, 1, -0.5]}, r"token_entropies has -0.5.*from 0 on"),
        ({"token_entropies": [0, None, 1]}, "token_entropies has None"),
        ({"token_margins": [0, "x" * 99, 1]}, "token_margins has 'xxx"),
        ({"token_margins": [0, 1e31, 1]}, "token_margins has 1e"),
        ({"token_margins": [0, True, 1]}, "token_margins has True"),
    ],
)
def test_values_of_tokens_that_cannot_be_are_told(wrong: Record, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(with_tokens(**wrong))


def test_an_utterance_without_words_does_not_split_the_batch() -> None:
    full = {"nbest": [hypothesis(-1, ("a", 0, 1, -0.1), eot_logprob=-0.5)]}
    empty = {
        "nbest": [{"score": -1, "text": "", "words": [], "token_logprobs": [], "eot_logprob": -1}],
        "duration": 2,
    }
    orders: list[list[Record]] = [[full, empty, full], [empty, full, empty]]
    for rows in orders:
        (batch,) = list(FORMAT.read(stream_of(as_lines(rows)), ReadOptions(), Problems()))  # type: ignore[misc]
        assert len(batch) == 3
        assert {"least_token_logprob", "eot_logprob"} < set(batch.extra)
    alone = read(empty)[0]
    assert arcs(alone, [0]) == [("", 0, 2, -1)]
    assert alone.origin.times == "given"


def test_an_utterance_whose_only_words_were_merged_away_has_none() -> None:
    """The columns of `[noise]`, which says as much as the better empty hypothesis, are not those of other words."""
    merged = {"nbest": [{"score": -1, "text": "", "words": []}, hypothesis(-9, ("[noise]", 0, 1, -9))]}
    lattices = read([{"nbest": [{"score": -1, "text": "a"}]}, merged])
    assert [lattice.text for lattice in lattices] == ["a", ""]
    assert set(lattices.extra) == {"rank", "share"}


def test_what_is_known_may_change_within_a_file() -> None:
    with_times, without = {"nbest": [hypothesis(-1, ("a", 0, 1, -0.1))]}, {"nbest": [{"score": -1, "text": "a"}]}
    stream = stream_of(as_lines([with_times, without, without, with_times]))
    batches = list(FORMAT.read(stream, ReadOptions(), Problems()))  # type: ignore[misc]
    assert [len(batch) for batch in batches] == [1, 2, 1]
    assert [batch.origin.times for batch in batches] == ["given", "aligned", "given"]


@pytest.mark.parametrize("layout", ["lines", "one line", "indented", "list", "indented list", "mark", "windows"])
def test_layouts_of_the_file(layout: str) -> None:
    records: list[Record] = [{"utt": name, "nbest": [{"text": name, "score": -1.5}]} for name in ("a", "b")]
    data = {
        "lines": as_lines(records) + b"\n\n",
        "one line": as_lines(records[0]).rstrip(),
        "indented": json.dumps(records[0], indent=1).encode(),
        "list": json.dumps(records).encode(),
        "indented list": json.dumps(records, indent=2).encode(),
        "mark": b"\xef\xbb\xbf" + as_lines(records),
        "windows": as_lines(records).replace(b"\n", b"\r\n"),
    }[layout]
    lattices = read(data)
    assert lattices.utts == (("a",) if layout in ("one line", "indented") else ("a", "b"))
    assert sniff(data, "") == 1.0


def test_names_of_utterances() -> None:
    hypotheses = [{"text": "a", "score": -1.5}]
    assert read({"nbest": hypotheses}).utts == ("lists",)
    assert read([{"nbest": hypotheses}, {"id": 12345678901234567890, "nbest": hypotheses}]).utts == (
        "lists-1",
        "12345678901234567890",
    )


@pytest.mark.parametrize(
    "record",
    [
        {"hypotheses": [{"score": -1.5, "text": "a b"}]},
        {"alternatives": [{"transcript": "a b", "log_prob": -1.5}]},
        {"n_best": [{"hyp": "a b", "logprob": -1.5}]},
    ],
)
def test_other_spellings(record: Record) -> None:
    lattice = read(record)[0]
    assert lattice.text == "a b"
    assert path_scores(lattice) == {"a b": -1.5}
    assert sniff(as_lines(record), "") > 0.5


def test_other_formats_are_not_claimed() -> None:
    vosk = b'{"alternatives": [{"confidence": 250.2, "result": [], "text": "a"}]}'
    google = b'{"results": [{"alternatives": [{"transcript": "a", "confidence": 0.9}]}]}'
    for data in (vosk, google, b"[1, 2]", b"", b"{", b"-1.5\tnbest", b'{"utt": "a", "arcs": []}'):
        assert sniff(data, "") == 0
    assert 0 < sniff(b'{"nbest": [{"text": "a"}]}', "") < 0.5


@settings(max_examples=150, deadline=None)
@given(records())
def test_every_distinct_hypothesis_is_a_chain_with_its_score(record: Record) -> None:
    expected: dict[str, float] = defaultdict(float)
    for item in record["nbest"]:
        expected[DEFAULT(item["text"])] += math.exp(item["score"])
    lattice = read(record)[0]
    paths = paths_by_text(lattice)
    assert sum(map(len, paths.values())) == lattice.arcs  # every path is a chain of its own
    logs = {text: math.log(probability) for text, probability in expected.items()}
    assert path_scores(lattice) == pytest.approx(logs, rel=1e-5, abs=1e-4)
    best = max(record["nbest"], key=lambda item: item["score"])
    assert lattice.picked is not None
    assert np.flatnonzero(lattice.picked).tolist() == sorted(paths[DEFAULT(best["text"])])
    of_word = lattice.word > 0
    lengths = (lattice.time[lattice.target] - lattice.time[lattice.source])[of_word]
    assert len(lengths) == 0 or lengths.min() > 0
    of_words = [
        values for name, values in lattice.extra.items() if name in ("logprob", "tokens", "least_token_logprob")
    ]
    assert all(np.all(values[~of_word] == 0) for values in of_words)


@settings(max_examples=50, deadline=None)
@given(st.lists(records(), min_size=1, max_size=4))
def test_a_file_is_what_its_records_are(rows: list[Record]) -> None:
    lattices: list[Lattice] = []
    for batch in FORMAT.read(stream_of(as_lines(rows)), ReadOptions(), Problems()):  # type: ignore[misc]
        lattices += batch
    for row, lattice in zip(rows, lattices, strict=True):
        alone = read(row)[0]
        if any(alone.words):  # else it takes over what is known of the words beside it
            assert lattice.equals(alone)


def test_scores_may_be_whole_numbers_of_any_size() -> None:
    lattice = read({"nbest": [{"score": -(10**20), "text": "a"}]})[0]
    assert path_scores(lattice) == {"a": pytest.approx(-1e20)}


def test_the_normalizer_decides_what_is_equal() -> None:
    record = {"nbest": [{"text": "naïve", "score": -1}, {"text": "naive", "score": -2}]}
    assert len(paths_by_text(read(record)[0])) == 1
    assert len(paths_by_text(read(record, options=ReadOptions(normalizer=Normalizer(accents=False)))[0])) == 2
