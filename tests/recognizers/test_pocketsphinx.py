"""PocketSphinx: exact trigram scores of the expanded graph, and the real decoder on real speech."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.speech import recording
from wordtrust.audio import RATE, Samples
from wordtrust.base.errors import InputError
from wordtrust.lattices.assemble import RawLattice
from wordtrust.lattices.lattice import Lattice
from wordtrust.recognizers.pocketsphinx.expansion import DecoderWeights, WordGraph, expand

pytestmark = pytest.mark.slow

WEIGHTS = DecoderWeights(language=3.0, penalty=-0.25)
WORDS = ("a", "b", "c")


def language(ngram: tuple[str, ...]) -> float:
    """A log-probability that depends on every word of the n-gram, and on how many there are."""
    return -1.0 - random.Random("|".join(ngram)).random()


def made_graph(seed: int, columns: int = 4) -> WordGraph:
    """Columns of words and fillers; each links to some of the next column and the one after."""
    rng = random.Random(seed)
    words, frames, column_of = ["<s>"], [0], [0]
    for column in range(1, columns + 1):
        for _ in range(rng.randint(1, 3)):
            words.append(rng.choice((*WORDS, "<sil>", "[NOISE]")))
            frames.append(10 * column)
            column_of.append(column)
    words.append("</s>")
    frames.append(10 * (columns + 1))
    column_of.append(columns + 1)
    links = [
        (source, target, -rng.uniform(1, 5))
        for source, target in itertools.product(range(len(words)), repeat=2)
        if column_of[target] - column_of[source] == 1
        or (column_of[target] - column_of[source] == 2 and rng.random() < 0.3)
    ]
    rng.shuffle(links)
    fillers = {node: {"<sil>": -0.5, "[NOISE]": -2.0}[w] for node, w in enumerate(words) if w in ("<sil>", "[NOISE]")}
    return WordGraph(words, fillers, frames, links, 0, len(words) - 1, frames[-1] + 9)


def graph_paths(graph: WordGraph) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """Every path: its nodes, its acoustic score, and its language score as the decoder would add it up."""

    def onward(path: tuple[int, ...], acoustic: float) -> Iterator[tuple[tuple[int, ...], float]]:
        if path[-1] == graph.end:
            yield path, acoustic
        for source, target, score in graph.links:
            if source == path[-1]:
                yield from onward((*path, target), acoustic + score)

    for path, acoustic in onward((graph.start,), 0.0):
        said, total = ["<s>"], 0.0
        for node in path[1:]:
            if node in graph.fillers:
                total += graph.fillers[node] / WEIGHTS.language
            else:
                total += language((graph.words[node], *said[:-3:-1]))
                said.append(graph.words[node])
        yield path, acoustic, total


def lattice_paths(raw: RawLattice) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """The same, of the expanded arcs."""
    assert raw.acoustic is not None
    assert raw.transition is not None
    acoustic, transition, nodes_said = raw.acoustic, raw.transition, [int(node) for node in raw.token]
    leaving: dict[int, list[int]] = {}
    for arc, source in enumerate(raw.source):
        leaving.setdefault(source, []).append(arc)

    def onward(
        state: int, nodes: tuple[int, ...], a: float, t: float
    ) -> Iterator[tuple[tuple[int, ...], float, float]]:
        if state == raw.end:
            yield nodes, a, t
        for arc in leaving.get(state, ()):
            scores = (a + acoustic[arc], t + transition[arc])
            yield from onward(raw.target[arc], (*nodes, nodes_said[arc]), *scores)

    return onward(raw.start, (), 0.0, 0.0)


def expanded(graph: WordGraph, beam: float = math.inf, most_arcs: int = 10**6) -> RawLattice:
    nodes = np.arange(len(graph.words), dtype=np.int32)
    return expand(graph, nodes, language, WEIGHTS, beam=beam, most_arcs=most_arcs, frame_rate=100)


@pytest.mark.parametrize("seed", range(12))
def test_every_path_keeps_its_exact_trigram_score(seed: int) -> None:
    graph = made_graph(seed)
    wanted = {nodes: (a, t) for nodes, a, t in graph_paths(graph)}
    found = {nodes: (a, t) for nodes, a, t in lattice_paths(expanded(graph))}
    assert found.keys() == wanted.keys()
    for nodes, scores in wanted.items():
        assert found[nodes] == pytest.approx(scores, abs=1e-9)


def test_times_are_the_frames_of_the_words_and_the_end_of_the_audio() -> None:
    graph = made_graph(3)
    raw = expanded(graph)
    for source, node in zip(raw.source, raw.token, strict=True):
        assert raw.time[source] == graph.frames[int(node)] / 100
    assert raw.time[raw.end] == (graph.last_frame + 1) / 100


def bigram_loss(graph: WordGraph, nodes: tuple[int, ...], acoustic: float) -> float:
    """A path's score by word pairs: exact where no filler lies between, which is so without fillers."""
    words = [graph.words[node] for node in nodes]
    pairs = itertools.pairwise(words)
    return acoustic + sum(WEIGHTS.language * language((word, before)) + WEIGHTS.penalty for before, word in pairs)


@pytest.mark.parametrize("seed", range(40, 52))
def test_pruning_keeps_all_paths_within_the_beam_by_word_pairs(seed: int) -> None:
    graph = made_graph(seed)
    if graph.fillers:
        words = [word if node not in graph.fillers else "b" for node, word in enumerate(graph.words)]
        graph = WordGraph(words, {}, graph.frames, graph.links, graph.start, graph.end, graph.last_frame)
    score = {nodes: bigram_loss(graph, nodes, a) for nodes, a, _ in graph_paths(graph)}
    best, beam = max(score.values()), 2.0
    kept = {nodes for nodes, _, _ in lattice_paths(expanded(graph, beam=beam))}
    assert {nodes for nodes, value in score.items() if value >= best - beam} <= kept
    links = {pair for nodes, value in score.items() if value >= best - beam for pair in itertools.pairwise(nodes)}
    assert {pair for nodes in kept for pair in itertools.pairwise(nodes)} == links


def test_a_lattice_with_too_many_arcs_is_pruned_harder_and_keeps_a_path() -> None:
    graph = made_graph(7, columns=6)
    assert len(expanded(graph).source) > 20
    assert 0 < len(expanded(graph, beam=50.0, most_arcs=20).source) <= 20 + 3  # and those to the end
    nodes = {nodes for nodes, _, _ in lattice_paths(expanded(graph, beam=50.0, most_arcs=1))}
    assert len(nodes) == 1


def test_a_sentence_start_in_mid_sentence_is_left_out() -> None:
    links = [(0, 1, -1.0), (0, 2, -1.0), (1, 3, -1.0), (2, 3, -1.0)]
    graph = WordGraph(("<s>", "<s>", "a", "</s>"), {}, (0, 5, 5, 9), links, 0, 3, 12)
    assert {nodes for nodes, _, _ in lattice_paths(expanded(graph))} == {(0, 2, 3)}


# The real decoder on real speech.


def speech(seconds: float, begin: float = 0.0) -> Samples:
    return recording()[int(begin * RATE) : int((begin + seconds) * RATE)]


@pytest.fixture(scope="module")
def decoder() -> Any:
    pytest.importorskip("pocketsphinx")
    from wordtrust.recognizers.pocketsphinx.adapter import load

    return load()


@pytest.fixture(scope="module")
def heard(decoder: Any) -> tuple[Lattice, str, list[str]]:
    """A lattice, and what PocketSphinx itself says: its text, and the words of its best path, fillers too."""
    lattice = decoder.recognize(speech(3))
    assert isinstance(lattice, Lattice)
    return lattice, decoder._decoder.hyp().hypstr, [each.word.partition("(")[0] for each in decoder._decoder.seg()]


def test_identity(decoder: Any) -> None:
    import json

    assert decoder.identity.name == "pocketsphinx"
    assert decoder.identity.version[0].isdigit()
    assert json.loads(json.dumps(decoder.identity.to_dict()))["settings"]["language_weight"] == 9.5


def test_the_best_path_is_what_pocketsphinx_prints(heard: tuple[Lattice, str, list[str]]) -> None:
    lattice, text, path = heard
    assert lattice.text == text
    assert [lattice.surfaces[arc] for arc in lattice.one_best()] == path
    assert "try" in lattice.text.split()  # Ever tried. Ever failed.


def test_transition_scores_are_those_of_the_decoders_language_model(
    heard: tuple[Lattice, str, list[str]], decoder: Any
) -> None:
    lattice, _, path = heard
    model, logmath = decoder._decoder.get_lm(), decoder._decoder.logmath
    config, said, total = decoder._decoder.config, ["<s>"], 0.0
    for word in path[1:]:
        if word == "<sil>":
            total += math.log(config["silprob"]) / config["bestpathlw"]
        elif word.startswith("["):
            total += math.log(config["fillprob"]) / config["bestpathlw"]
        else:
            total += logmath.log_to_ln(model.prob([word, *said[:-3:-1]]))
            said.append(word)
    assert lattice.transition is not None
    assert lattice.transition[list(lattice.one_best())].sum() == pytest.approx(total, abs=0.05)  # it rounds fillers


def test_a_real_lattice(heard: tuple[Lattice, str, list[str]]) -> None:
    lattice, _, _ = heard
    assert lattice.arcs > 50
    assert lattice.acoustic is not None
    assert lattice.acoustic.max() <= 0
    assert lattice.scales.transition / lattice.scales.acoustic == pytest.approx(9.5)
    assert lattice.time[0] == 0
    assert lattice.time[-1] == pytest.approx(3, abs=0.05)
    assert not {"<s>", "</s>", "<sil>", "[NOISE]", "[SPEECH]"} & set(lattice.words)


def test_what_was_heard_before_changes_nothing(heard: tuple[Lattice, str, list[str]], decoder: Any) -> None:
    decoder.recognize(speech(1, begin=5) * np.float32(0.2))
    again = decoder.recognize(speech(3))
    assert again.equals(heard[0])


@pytest.mark.parametrize("samples", [np.zeros(0), np.ones(10), np.zeros(RATE), np.full(RATE, np.nan)])
def test_nothing_to_hear(samples: Any, decoder: Any) -> None:
    assert decoder.recognize(samples.astype(np.float32)) == {"nbest": [{"score": 0.0, "words": []}]}


def wheel_model() -> Path:
    spec = find_spec("pocketsphinx")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model" / "en-us"


def test_a_model_in_a_folder(decoder: Any) -> None:
    from wordtrust.recognizers.pocketsphinx.adapter import load

    other = load(str(wheel_model()))
    assert other.identity.name == "pocketsphinx-en-us"
    heard = other.recognize(speech(1))
    assert isinstance(heard, Lattice)
    assert heard.text == decoder.recognize(speech(1)).text


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ((), "no acoustic model is here"),
        (("mdef",), "a language model is needed.*none is here"),
        (("mdef", "x.lm", "y.lm.bin"), "a language model is needed.*x.lm, y.lm.bin"),
        (("mdef", "x.lm"), "a dictionary is needed"),
        (("mdef", "x.lm", "x.dict"), "PocketSphinx cannot load .*x.lm, x.dict"),
    ],
)
def test_a_folder_without_a_model(files: tuple[str, ...], says: str, tmp_path: Path) -> None:
    pytest.importorskip("pocketsphinx")
    from wordtrust.recognizers.pocketsphinx.adapter import load

    with pytest.raises(InputError, match="no such folder"):
        load(str(tmp_path / "none"))
    for name in files:
        (tmp_path / name).write_bytes(b"nonsense\n")
    with pytest.raises(InputError, match=says):
        load(str(tmp_path))
