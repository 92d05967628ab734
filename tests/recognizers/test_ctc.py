"""CTC: prefix beam search, scores and alignments against all paths; words; models of transformers."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.audio import RATE
from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats import read
from wordtrust.recognizers.ctc.alphabet import Alphabet
from wordtrust.recognizers.ctc.forced import score_text
from wordtrust.recognizers.ctc.search import align, label_evidence, nbest, prefix_beam_search, score

Reals = NDArray[np.float64]


def made_frames(seed: int, frames: int, labels: int, sharp: float = 2.0) -> Reals:
    """Random log-probabilities."""
    raw = np.random.default_rng(seed).normal(size=(frames, labels)) * sharp
    found: Reals = raw - np.log(np.exp(raw).sum(1, keepdims=True))
    return found


def collapse(row: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(label for label, _ in itertools.groupby(row) if label != blank)


def by_enumeration(frames: Reals, blank: int) -> dict[tuple[int, ...], tuple[float, float, tuple[int, ...]]]:
    """For every sequence: its log-probability, and the score and labels of its likeliest row of frames."""
    found: dict[tuple[int, ...], tuple[float, float, tuple[int, ...]]] = {}
    for row in itertools.product(range(frames.shape[1]), repeat=len(frames)):
        value = float(frames[np.arange(len(frames)), row].sum())
        key = collapse(row, blank)
        total, best, best_row = found.get(key, (-math.inf, -math.inf, ()))
        if value > best:
            best, best_row = value, row
        found[key] = (float(np.logaddexp(total, value)), best, best_row)
    return found


def spoken(labels: int, blank: int) -> NDArray[np.int64]:
    return np.array([label for label in range(labels) if label != blank], np.int64)


@st.composite
def utterances(draw: st.DrawFn) -> tuple[Reals, int]:
    """Frames small enough to enumerate all their rows, and the blank."""
    labels = draw(st.integers(2, 4))
    frames = made_frames(draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 6)), labels)
    return frames, draw(st.integers(0, labels - 1))


@settings(max_examples=40, deadline=None)
@given(utterances())
def test_a_wide_beam_finds_every_sequence_in_the_order_of_its_probability(utterance: tuple[Reals, int]) -> None:
    frames, blank = utterance
    wanted = by_enumeration(frames, blank)
    sequences = prefix_beam_search(frames, blank, spoken(frames.shape[1], blank), beam=5000, cut=-math.inf)
    assert [tuple(labels.tolist()) for labels in sequences] == sorted(wanted, key=lambda key: -wanted[key][0])


@settings(max_examples=40, deadline=None)
@given(utterances())
def test_scores_are_true_probabilities_and_a_chain(utterance: tuple[Reals, int]) -> None:
    frames, blank = utterance
    wanted = by_enumeration(frames, blank)
    for key, (total, _, _) in wanted.items():
        found = score(frames, blank, np.array(key, np.int64))
        assert found.total == pytest.approx(total, abs=1e-9)
        for count in range(1, len(key) + 1):  # P(starts with these labels), by adding up all that do
            starts = np.logaddexp.reduce([each[0] for other, each in wanted.items() if other[:count] == key[:count]])
            assert found.labels[:count].sum() == pytest.approx(starts, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(utterances())
def test_alignment_is_that_of_the_likeliest_row(utterance: tuple[Reals, int]) -> None:
    (frames, blank), length = utterance, len(utterance[0])
    for key, (_, best, _) in by_enumeration(frames, blank).items():
        first, end = align(frames, blank, np.array(key, np.int64))
        row = np.full(length, blank)
        for label, begin, stop in zip(key, first, end, strict=True):
            assert 0 <= begin < stop <= length
            row[begin:stop] = label
        assert collapse(tuple(row.tolist()), blank) == key
        assert frames[np.arange(length), row].sum() == pytest.approx(best, abs=1e-9)


@given(utterances())
def test_evidence_of_a_label_is_that_of_its_best_frame(utterance: tuple[Reals, int]) -> None:
    frames, blank = utterance
    for key in by_enumeration(frames, blank):
        labels = np.array(key, np.int64)
        first, end = align(frames, blank, labels)
        evidence = label_evidence(frames, labels, first, end)
        for index, label in enumerate(key):
            row = max(frames[first[index] : end[index]].tolist(), key=lambda row: row[label])
            others = sorted((value for other, value in enumerate(row) if other != label), reverse=True)
            assert evidence.entropies[index] == pytest.approx(-sum(math.exp(value) * value for value in row))
            assert evidence.ranks[index] == sum(other > row[label] for other in others)
            assert evidence.margins[index] == pytest.approx(row[label] - others[0])


def test_a_narrow_beam_still_has_the_best_of_a_clear_case() -> None:
    frames = made_frames(1, 400, 20, sharp=0.3)
    truth = np.random.default_rng(2).integers(1, 20, 100)
    frames[::4, :] -= 8
    frames[::4][np.arange(100), truth] += 8
    for gap in (1, 2, 3):
        frames[gap::4, 0] += 8
    frames -= np.log(np.exp(frames).sum(1, keepdims=True))
    best = prefix_beam_search(frames, 0, spoken(20, 0), beam=8, cut=-6.0)
    assert best[0].tolist() == truth.tolist()
    first, end = align(frames, 0, best[0])
    assert first.tolist() == list(range(0, 400, 4))
    assert (end - first).tolist() == [1] * 100


def test_a_prefix_that_left_the_beam_and_came_back_is_not_counted_twice() -> None:
    for seed in range(60):
        frames = made_frames(seed, 12, 4, sharp=3.0)
        found = [tuple(each.tolist()) for each in prefix_beam_search(frames, 0, spoken(4, 0), beam=3, cut=-math.inf)]
        assert len(found) == len(set(found))


def test_the_window_of_long_sums_loses_nothing() -> None:
    frames = made_frames(5, 300, 6, sharp=3.0)
    labels = prefix_beam_search(frames, 0, spoken(6, 0), beam=16, cut=-8.0)[0]
    wrong = labels.copy()
    wrong[40:60] = 1 + wrong[40:60] % 5  # unlikely in the middle
    for each in (labels, wrong):
        assert score(frames, 0, each).total == pytest.approx(forward(frames, each), rel=1e-12)


def forward(frames: Reals, labels: NDArray[np.int64]) -> float:
    """The textbook sum over blank, label, blank, ..., with nothing left out; the blank is 0."""
    states = np.zeros(2 * len(labels) + 1, np.int64)
    states[1::2] = labels
    skip = np.zeros(len(states), bool)
    skip[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
    alpha = np.full(len(states), -np.inf)
    alpha[:2] = frames[0, states[:2]]
    for frame in frames[1:]:
        one = np.concatenate([[-np.inf], alpha[:-1]])
        two = np.where(skip, np.concatenate([[-np.inf, -np.inf], alpha[:-2]]), -np.inf)
        alpha = np.logaddexp(np.logaddexp(alpha, one), two) + frame[states]
    return float(np.logaddexp(alpha[-1], alpha[-2]))


def test_labels_that_do_not_fit() -> None:
    frames = made_frames(0, 3, 3)
    for labels in ([1, 2, 1, 2], [1, 1, 2]):
        for function in (score, align):
            with pytest.raises(ValueError, match="do not fit into 3 frames"):
                function(frames, 0, np.array(labels))


# Words.

LETTERS = Alphabet(("<pad>", "|", "a", "b", "c"), 0, np.array([1, 2, 3, 4]), delimiter=1)
PIECES = Alphabet(("<pad>", "\u2581a", "b", "\u2581", "c"), 0, np.array([1, 2, 3, 4]))


@pytest.mark.parametrize(
    ("alphabet", "labels", "words"),
    [
        (LETTERS, [], []),
        (LETTERS, [1], []),
        (LETTERS, [2, 3], [("ab", 0, 2)]),
        (LETTERS, [2, 1, 3], [("a", 0, 2), ("b", 2, 3)]),
        (LETTERS, [1, 2, 1, 1, 3, 1], [("a", 0, 4), ("b", 4, 6)]),
        (PIECES, [1, 2, 1], [("ab", 0, 2), ("a", 2, 3)]),
        (PIECES, [2, 3, 4], [("b", 0, 1), ("c", 1, 3)]),
    ],
)
def test_words_of_labels(alphabet: Alphabet, labels: list[int], words: list[tuple[str, int, int]]) -> None:
    assert alphabet.words(np.array(labels, np.int64)) == words


def test_the_record_has_the_exact_probability_of_every_row_of_words() -> None:
    frames = made_frames(11, 6, 5)
    wanted: dict[str, float] = {}
    for key, (total, _, _) in by_enumeration(frames, 0).items():
        text = " ".join("".join(LETTERS.tokens[each] for each in key).replace("|", " ").split())
        wanted[text] = float(np.logaddexp(wanted.get(text, -math.inf), total))
    record = nbest(frames, LETTERS, beam=10**5, cut=-math.inf, hypotheses=10, seconds=0.6, step=0.1)
    listed = record["nbest"]
    assert [each["text"] for each in listed] == sorted(wanted, key=lambda text: -wanted[text])[:10]
    assert [each["score"] for each in listed] == pytest.approx([wanted[each["text"]] for each in listed], abs=1e-9)
    assert record["empty_logprob"] == pytest.approx(frames[:, 0].sum())
    for each in listed:
        assert " ".join(word["word"] for word in each["words"]) == each["text"]
        chain = sum(word["logprob"] for word in each["words"]) + each["eot_logprob"]
        assert chain <= each["score"] + 1e-9  # the score also has other ways to write the same words
        times = [time for word in each["words"] for time in (word["start"], word["end"])]
        assert times == sorted(times)
        assert all(0 <= time <= 0.6 for time in times)


CAPITALS = Alphabet(["<pad>", "|", "A", "B"], blank=0, spoken=np.array([1, 2, 3]), delimiter=1)
TWO_PIECES = Alphabet(["\u2581a", "b", "\u2581ab", "<blank>", "c"], blank=3, spoken=np.array([0, 1, 2, 4]))


@pytest.mark.parametrize(
    ("alphabet", "words", "labels"),
    [
        (CAPITALS, ["ab", "B!", "7"], [[2, 3, 1], [3], []]),
        (CAPITALS, [], []),
        (CAPITALS, ["7"], [[]]),
        (CAPITALS, ["7", "a", "?"], [[], [2], []]),
        (TWO_PIECES, ["abc", "AB", "cab"], [[2, 4], [2], [4, 1]]),
    ],
)
def test_labels_of_words(alphabet: Alphabet, words: list[str], labels: list[list[int]]) -> None:
    assert alphabet.labels(words) == labels


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.lists(st.sampled_from(["a", "ab", "bb", "7"]), max_size=3))
def test_given_texts_have_the_probability_of_all_their_rows(seed: int, length: int, words: list[str]) -> None:
    """Of each word: that what is said begins with the words up to it, given that it begins with those before."""
    frames = made_frames(seed, length, 4)
    wanted = by_enumeration(frames, CAPITALS.blank)
    scores = score_text(frames, CAPITALS, words)
    labels: tuple[int, ...] = ()
    before, fits = 0.0, True
    for word, spelled in enumerate(CAPITALS.labels(words)):
        labels = (*labels, *spelled)
        begins = [total for key, (total, _, _) in wanted.items() if key[: len(labels)] == labels]
        fits = fits and bool(begins)
        assert scores.tokens[word] == len(spelled)
        if not spelled:
            assert np.isnan(scores.logprob[word])
        elif not fits:
            assert scores.logprob[word] <= -100
            assert scores.margin[word] == -100
        else:
            starts = float(np.logaddexp.reduce(begins))
            assert scores.logprob[word] == pytest.approx(starts - before, abs=1e-9)
            before = starts
    assert scores.end == (pytest.approx(wanted[labels][0] - before, abs=1e-9) if labels in wanted else -100)


# Real code of transformers, made-up weights.

VOCABULARY = ("<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRD")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny wav2vec 2.0 model with random weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    made = tmp_path_factory.mktemp("model") / "tiny-wav2vec2"
    made.mkdir()
    vocabulary = made / "vocab.json"
    vocabulary.write_text(json.dumps({token: number for number, token in enumerate(VOCABULARY)}))
    transformers.Wav2Vec2CTCTokenizer(str(vocabulary)).save_pretrained(made)
    transformers.Wav2Vec2FeatureExtractor(return_attention_mask=False).save_pretrained(made)
    config = transformers.Wav2Vec2Config(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8,) * 7, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(3)
    network = transformers.Wav2Vec2ForCTC(config)
    network.lm_head.weight.data *= 40  # so that it says something
    network.save_pretrained(made)
    return made


@pytest.fixture(scope="module")
def recognizer(folder: Path) -> Any:
    from wordtrust.recognizers.ctc.adapter import load

    return load(str(folder))


@pytest.fixture(scope="module")
def noise() -> NDArray[np.float32]:
    return (np.random.default_rng(0).normal(size=RATE) * 0.1).astype(np.float32)


def test_identity(recognizer: Any) -> None:
    assert recognizer.identity.name == "ctc-tiny-wav2vec2"
    assert recognizer.identity.version[0].isdigit()
    assert recognizer.identity.pick == "total"
    json.dumps(recognizer.identity.to_dict())


def test_a_record(recognizer: Any, noise: NDArray[np.float32], tmp_path: Path) -> None:
    record = recognizer.recognize(noise)
    assert isinstance(record, Mapping)
    scores = [each["score"] for each in record["nbest"]]
    assert len(scores) >= 10
    assert scores == sorted(scores, reverse=True)
    assert np.logaddexp.reduce(scores) <= 1e-9  # of different words: together at most 1
    assert not any("<" in each["text"] or "|" in each["text"] for each in record["nbest"])
    assert any(each["words"] for each in record["nbest"])
    path = tmp_path / "u.jsonl"
    path.write_text(json.dumps(record) + "\n")
    (lattice,) = read(path)
    assert lattice.text == record["nbest"][0]["text"]
    assert lattice.duration == pytest.approx(1)


def test_scores_are_those_of_the_loss_of_torch(recognizer: Any, noise: NDArray[np.float32]) -> None:
    torch = pytest.importorskip("torch")
    frames = recognizer.log_probabilities(noise)
    for labels in ([5, 6, 4, 7], [], [5, 5, 8, 8, 4, 4]):
        loss = torch.nn.functional.ctc_loss(
            torch.from_numpy(frames)[:, None], torch.tensor([labels], dtype=torch.long), torch.tensor([len(frames)]),
            torch.tensor([len(labels)]), blank=0, reduction="none",
        )  # fmt: skip
        assert score(frames, 0, np.array(labels, np.int64)).total == pytest.approx(-float(loss[0]), abs=1e-6)


def test_given_texts_have_the_scores_of_the_search(recognizer: Any, noise: NDArray[np.float32]) -> None:
    first = recognizer.recognize(noise)["nbest"][0]
    one, two = recognizer.score_texts(noise, [first["text"].lower().split(), ["7"]])
    assert one.tokens.sum() == len(first["token_logprobs"])
    assert one.logprob.sum() + one.end == pytest.approx(sum(first["token_logprobs"]) + first["eot_logprob"])
    assert one.logprob == pytest.approx([word["logprob"] for word in first["words"]])
    assert np.isnan(two.logprob).all()
    (short,) = recognizer.score_texts(noise[:99], [["the"]])
    assert np.isnan([short.logprob[0], short.end]).all()


@pytest.mark.parametrize("size", [0, 100, 1599])
def test_too_short(size: int, recognizer: Any) -> None:
    assert recognizer.recognize(np.zeros(size, np.float32)) == {"nbest": [{"score": 0.0, "words": []}]}


def test_pickled_weights_are_not_read(folder: Path, tmp_path: Path) -> None:
    from wordtrust.recognizers.ctc.adapter import load

    for each in folder.iterdir():
        if each.suffix == ".json":
            (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match=r"pickles.*safetensors"):
        load(str(tmp_path))


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from wordtrust.recognizers.ctc.adapter import load

    with pytest.raises(InputError, match="cannot load this model"):
        load(str(tmp_path))
    with pytest.raises(OptionError, match="needs a model"):
        load()
