"""Checking transcripts: the verdict belongs to the words, whoever listens in whatever order, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.joint_data import chain
from tests.helpers.strategies import assembled
from wordtrust import InputError, OptionError
from wordtrust.base.tensors import read_tensors, write_tensors
from wordtrust.combination.check import CheckedWords, CheckModel, ForcedWords, Listener, gather, joined
from wordtrust.combination.check.columns import WORD_COLUMNS, repeats, word_table
from wordtrust.combination.check.listener import pivot_chains
from wordtrust.combination.check.model import _in_runs_with
from wordtrust.combination.check.pair_evidence import pair_evidence
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.hwcn import build

texts = st.lists(st.sampled_from(["i", "will", "sit", "there", "their", "6", "six"]), max_size=7)


@cache
def shipped() -> CheckModel:
    return CheckModel.load()


def transcript(words: list[str], *, seconds: float = 0.3, utt: str = "u") -> Lattices:
    """Words one after another, all of the same length, which may be nothing."""
    timed = [{"word": word, "start": seconds * at, "end": seconds * (at + 1)} for at, word in enumerate(words)]
    return without_scores(wt.from_nbest({utt: [{"score": 0.0, "words": timed}]}))


def without_scores(lattices: Lattices) -> Lattices:
    return replace(lattices, posterior=None, acoustic=None, transition=None, extra={})


def typed(words: list[str], utt: str = "u") -> Lattices:
    """Words without times."""
    return wt.from_nbest({utt: [{"score": 0.0, "text": " ".join(words)}]})


def listener(name: str, hypotheses: list[list[str]], utt: str = "u") -> Listener:
    """What it held possible, the first one most."""
    listed = [{"score": -1.0 - rank, "text": " ".join(words)} for rank, words in enumerate(hypotheses)]
    networks = build(wt.from_nbest({utt: listed})).lattices
    assert networks.posterior is not None
    return Listener(name, networks, networks.posterior * np.float32(0.9), one_best(networks))


def same(one: CheckedWords, other: CheckedWords) -> bool:
    arrays = zip(one[:4], other[:4], strict=True)
    return (
        all(np.array_equal(a, b) for a, b in arrays) and one[4:6] == other[4:6] and np.array_equal(one[6], other[6])
    )


several = st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=3)


@given(texts, several, st.sampled_from([0.0, 0.004, 0.3]))
@settings(max_examples=40, deadline=None)
def test_every_word_and_every_gap_has_a_verdict(
    words: list[str], heard: list[list[list[str]]], seconds: float
) -> None:
    listeners = [listener(f"l{number}", lists) for number, lists in enumerate(heard)]
    for pivot in (transcript(words, seconds=seconds), typed(words)):
        checked = shipped().judge(pivot, listeners)
        assert len(checked.confidence) == len(checked.missing_before) == len(checked.heard) == len(words)
        assert len(checked.alternatives) == len(checked.made_up) == len(words)
        assert len(checked.missing_end) == 1
        everything = np.concatenate([checked.confidence, checked.missing_before, checked.missing_end, checked.heard])
        assert ((everything >= 0) & (everything <= 1)).all()


@given(texts, several)
@settings(max_examples=20, deadline=None)
def test_the_order_of_listeners_does_not_matter(words: list[str], heard: list[list[list[str]]]) -> None:
    listeners = [listener(f"l{number}", lists) for number, lists in enumerate(heard)]
    pivot = typed(words)
    assert same(shipped().judge(pivot, listeners), shipped().judge(pivot, listeners[::-1]))


@given(texts, several)
@settings(max_examples=20, deadline=None)
def test_what_one_listener_says_does_not_depend_on_the_others(words: list[str], heard: list[list[list[str]]]) -> None:
    listeners = [listener(f"l{number}", lists) for number, lists in enumerate(heard)]
    together = gather(typed(words), listeners, {})
    for one in listeners:
        alone, beside = gather(typed(words), [one], {}), together.heard[together.names.index(one.name)]
        for name, values in beside.evidence._asdict().items():
            if name != "other":  # words are numbered as they come
                np.testing.assert_array_equal(values, getattr(alone.heard[0].evidence, name))


def test_nobody_listens_or_nothing_was_said() -> None:
    alone = shipped().judge(typed(["so", "it", "is"]), [])
    assert len(alone.confidence) == 3
    assert alone.made_up == [""] * 3
    silent = shipped().judge(typed([]), [listener("a", [["hello"]])])
    assert len(silent.confidence) == 0
    assert silent.missing_end[0] > 0.2  # somebody heard a word
    deaf = shipped().judge(typed(["hello", "there"]), [listener("a", [[]])])
    assert (deaf.heard == 0).all()
    assert [[one.word for one in each] for each in deaf.alternatives] == [[""], [""]]


@given(texts.filter(len), texts.filter(len), texts, texts)
@settings(max_examples=20, deadline=None)
def test_a_transcript_in_parts_is_judged_as_a_whole(a: list[str], b: list[str], c: list[str], d: list[str]) -> None:
    pivots = [typed(a, "a"), typed(b, "b")]
    heard = [listener("l", [c], "a"), listener("l", [d], "b")]
    networks = concatenate(one.networks for one in heard)
    both = Listener("l", networks, np.concatenate([one.confidence for one in heard]), one_best(networks))
    parts = joined([gather(pivot, [one], {}) for pivot, one in zip(pivots, heard, strict=True)])
    assert same(shipped().verdict(parts), shipped().judge(concatenate(pivots), [both]))


def test_agreed_words_are_trusted_and_others_doubted() -> None:
    words = "the train leaves at six from the main station today".split()
    other = "the train leaves at 6 from the rain station today".split()
    checked = shipped().judge(typed(words), [listener("moonshine-tiny", [other]), listener("whisper-base", [other])])
    assert int(np.argmin(checked.confidence)) == words.index("main")
    assert checked.heard[words.index("six")] == 1  # in another spelling
    assert [one.word for one in checked.alternatives[words.index("main")]] == ["rain"]
    assert checked.alternatives[0] == ()


@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6), max_size=4))
def test_runs_that_stand_for_missing_words(utterances: list[list[tuple[bool, bool]]]) -> None:
    expected = []
    for utterance in utterances:
        for _, run in groupby(utterance, key=lambda word: word[0]):
            words = list(run)
            expected += [words[0][0] and any(marked for _, marked in words)] * len(words)
    chosen, marked = (np.array([word[of] for one in utterances for word in one], bool) for of in (0, 1))
    offsets = np.cumsum([0, *map(len, utterances)])
    assert _in_runs_with(marked, chosen, offsets).tolist() == expected


def test_missing_words_and_loops_are_seen() -> None:
    heard = "we will sit down over there and wait for them".split()
    lacking = shipped().judge(typed([*heard[:3], *heard[6:]]), [listener("whisper-small", [heard])])
    assert int(np.argmax(lacking.missing_before)) == 3
    looped = [*heard, *heard[-2:] * 5]
    checked = shipped().judge(typed(looped), [listener("whisper-small", [heard])])
    assert set(checked.made_up[len(heard) + 1 :]) == {"loop"}  # a repetition is one when it is whole
    assert checked.made_up[: len(heard)] == [""] * len(heard)


def test_words_that_were_heard_as_one_are_not_made_up() -> None:
    heard, written = "he spoke of leniency all day long".split(), "he spoke of land and sea all day long".split()
    checked = shipped().judge(typed(written), [listener("whisper-small", [heard])])
    assert checked.made_up == [""] * len(written)
    more = shipped().judge(typed([*heard, "thank", "you", "so", "much"]), [listener("whisper-small", [heard])])
    assert more.made_up == [""] * len(heard) + ["silence"] * 4


def test_bad_requests() -> None:
    pivot, one = typed(["so"]), listener("a", [["so"]])
    with pytest.raises(OptionError, match="same name"):
        shipped().judge(pivot, [one, one])
    with pytest.raises(OptionError, match="other utterances"):
        shipped().judge(typed(["so"], "v"), [one])
    with pytest.raises(OptionError, match="no listener"):
        shipped().judge(pivot, [one], {"b": ForcedWords(*[np.zeros(1, np.float32)] * 5)})
    with pytest.raises(OptionError, match="one chain"):
        shipped().judge(listener("a", [["so"], ["no"]]).networks, [one])


def confident_arcs(listened: list[tuple[str, float, float, float]]) -> Listener:
    """A listener with these words, each in a path of its own; the first ones make its output."""
    times = sorted({time for _, start, end, _ in listened for time in (start, end)} | {0.0, 4.0})
    ends = [(times.index(start), times.index(end)) for _, start, end, _ in listened]
    silences = [(at, at + 1) for at in range(len(times) - 1)]
    tokens = [word for word, *_ in listened] + ["<sil>"] * len(silences)
    scores = [confidence for *_, confidence in listened] + [0.1] * len(silences)
    lattices = assembled("u", time=times, ends=[*ends, *silences], tokens=tokens, posterior=scores).batch()
    assert lattices.posterior is not None
    return Listener("l", lattices, lattices.posterior, one_best(lattices))


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.integers(1, 2), st.integers(1, 9)),
        min_size=1, max_size=6, unique_by=lambda arc: arc[:3],
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_evidence_by_hand(arcs: list[tuple[str, int, int, int]]) -> None:
    """Nodes lie half a second apart, so none are merged; without a shared word, both clocks are the same."""
    pivot = pivot_chains(without_scores(chain([("z", 0.0, 1.0), ("a", 1.0, 2.0), ("y", 3.0, 4.0)], 4.0, utt="u")))
    heard = confident_arcs([(word, at / 2, at / 2 + length / 2, mass / 20) for word, at, length, mass in arcs])
    output = one_best(heard.networks).without_silence(heard.networks).arcs_in(heard.networks)
    if "a" in heard.networks.vocabulary.lookup(heard.networks.word[output].tolist()):
        return  # an anchor: the clock is moved
    found = pair_evidence(pivot, heard, Vocabulary())
    for index, (word, start, end) in enumerate([("z", 0.0, 1.0), ("a", 1.0, 2.0), ("y", 3.0, 4.0)]):
        mass, rival = 0.0, 0.0
        for said, at, length, weight in arcs:
            begin, finish = at / 2, at / 2 + length / 2
            common = min(end, finish) - max(start, begin)
            is_same = said == word and common > 0 and 2 * common >= min(end - start, finish - begin)
            mass += weight / 20 if is_same else 0
            if not is_same and begin <= (start + end) / 2 < finish:
                rival = max(rival, weight / 20)
        assert found.word[index] == pytest.approx(min(1.0, mass), abs=1e-5)
        assert found.rival[index] == pytest.approx(rival, abs=1e-5)


@given(st.lists(st.integers(1, 3), max_size=12), st.integers(1, 4))
def test_repetitions_by_hand(words: list[int], longest: int) -> None:
    array = np.array(words, np.int32)
    counted = repeats(array, np.array([0, len(words)]), longest)
    for at in range(len(words)):
        most = 0
        for size in range(1, longest + 1):
            times = 0
            while at + 1 - (times + 2) * size >= 0 and all(
                words[at - back] == words[at - back - (times + 1) * size] for back in range(size)
            ):
                times += 1
            most = max(most, times)
        assert counted[at] == most


def all_typed(texts: list[list[str]]) -> Lattices:
    return without_scores(concatenate([typed(words, f"u{index}") for index, words in enumerate(texts)]))


def test_where_a_listener_was_not_there_the_others_judge() -> None:
    said = [["so", "it", "is"], ["we", "went", "home"], ["and", "slept"]]
    pivot, first = all_typed(said), Listener("a", all_typed(said))
    other = Listener("b", all_typed([said[0], [], said[2]]))
    deaf = shipped().judge(pivot, [first, other])
    absent = shipped().judge(pivot, [first, other._replace(covers=np.array([True, False, True]))])
    alone = shipped().judge(pivot, [first])
    part = slice(3, 6)
    assert absent.confidence[part].tolist() == alone.confidence[part].tolist()
    assert (absent.confidence[part] > deaf.confidence[part]).all()
    both = [0, 1, 2, 6, 7]
    assert absent.confidence[both].tolist() == deaf.confidence[both].tolist()
    assert absent.missing_end[[0, 2]].tolist() == deaf.missing_end[[0, 2]].tolist()
    assert (absent.heard == 1).all()
    assert absent.alternatives[3:6] == [(), (), ()] != deaf.alternatives[3:6]


def test_where_nobody_was_words_are_as_sure_as_the_rest_or_as_they_came() -> None:
    said = [["so", "it", "is"], ["we", "went", "home"]]
    pivot = all_typed(said)
    one = Listener("b", all_typed([["so", "it", "was"], []]), covers=np.array([True, False]))
    checked = shipped().judge(pivot, [one])
    assert checked.confidence[3:] == pytest.approx(checked.confidence[:3].mean())
    assert np.isnan(checked.heard).tolist() == [False] * 3 + [True] * 3
    own = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], np.float32)
    scored = replace(pivot, posterior=own[np.maximum(0, np.cumsum(pivot.word > 0) - 1)])
    assert shipped().judge(scored, [one], calibrated=True).confidence[3:] == pytest.approx(own[3:])
    parts = [gather(typed(words, f"u{index}"), [_of(one, index)], {}) for index, words in enumerate(said)]
    again = shipped().verdict(joined(parts))
    assert (again.confidence.tolist(), again.alternatives) == (checked.confidence.tolist(), checked.alternatives)


def _of(one: Listener, row: int) -> Listener:
    assert one.covers is not None
    return Listener(one.name, one.networks[np.array([row])], covers=one.covers[row : row + 1])


def test_unheard_words_of_anybody_are_right_more_often_than_those_of_a_recognizer() -> None:
    gathered = gather(typed(["so", "urartu", "it"]), [listener("moonshine-tiny", [["so", "uratu", "it"]])], {})
    anybody, recognizer = shipped().verdict(gathered), shipped().verdict(gathered, by_recognizer=True)
    assert anybody.confidence[1] > recognizer.confidence[1]
    assert anybody.if_recognizer.tolist() == recognizer.confidence.tolist() == recognizer.if_recognizer.tolist()


def test_forced_scores_reach_the_table() -> None:
    pivot, one = typed(["so", "it"]), listener("a", [["so", "it"]])
    logprob, least, tokens, margin = (np.array([value, np.nan], np.float32) for value in (-2.0, -1.5, 2.0, -0.5))
    forced = ForcedWords(logprob, least, tokens, margin, np.zeros(1, np.float32))
    gathered = gather(pivot, [one], {}, {"a": forced})
    table = word_table(gathered.facts, gathered.heard, by_recognizer=True)
    rate = table[:, WORD_COLUMNS.index("forced_rate.0")]
    assert rate[0] == -1.0
    assert np.isnan(rate[1])
    assert 0 <= shipped().verdict(gathered).confidence[1] <= 1


def test_a_model_is_written_and_read(tmp_path: Path) -> None:
    shipped().save(tmp_path / "check.safetensors")
    again = CheckModel.load(tmp_path / "check.safetensors")
    pivot, one = typed(["so", "it", "is"]), listener("a", [["so", "is"]])
    assert same(again.judge(pivot, [one]), shipped().judge(pivot, [one]))


@pytest.mark.parametrize("damage", ["kind", "columns", "trees", "calibration", "error_rates", "shape", "cut"])
def test_a_damaged_model_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "check.safetensors"
    shipped().save(file)
    arrays, card = read_tensors(file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "shape":
        write_tensors(file, arrays | {"words.trees.leaf": np.zeros((3, 5), np.float32)}, card)
    else:
        write_tensors(file, arrays, card | {damage: {"words": "many"}})
    with pytest.raises(InputError, match=str(file)):
        CheckModel.load(file)
