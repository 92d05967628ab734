"""PocketSphinx 5: true lattices with nothing to download; acoustic model, language model and dictionary in the wheel.

`load("FOLDER")` takes another model: a folder with the acoustic model (its `mdef` there or one folder below), one
language model (.lm, .lm.gz, .lm.bin, .dmp, .lm.dmp) and one dictionary (.dict, .dic), the parts of a CMU Sphinx
model.

Scores are the decoder's: the lattice's scales weight acoustic and language scores as PocketSphinx does when it looks
for the best path, so that the best path is what it prints (nearly always: PocketSphinx itself loses part of the word
history before a filler). All are divided by `ascale`, 20, as PocketSphinx divides acoustic scores for posteriors; on
real speech hardly any other value gives better probabilities.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pocketsphinx

from ...audio import RATE, Samples
from ...base.errors import InputError
from ...base.problems import Problems
from ...formats.format import ReadOptions
from ...formats.inputs import Stream
from ...formats.sphinx import SphinxLattice, parse
from ...lattices.assemble import Builder, RawLattice, Tokens
from ...lattices.lattice import Lattice, Origin
from ...lattices.posterior import prune
from ...lattices.weights import Scales
from ..base import NOTHING, NBestRecord, RecognizerIdentity
from .expansion import END, START, DecoderWeights, LanguageModel, WordGraph, expand

BEAM = 80.0  # in the decoder's scores; 110 has 2.6 times the arcs for 1.3% fewer oracle errors
MOST_ARCS = 50_000
SHORTEST = 0.1  # seconds; PocketSphinx needs some frames

_SHIFT = 10  # the decoder drops these bits of the scores that it adds to acoustic ones
_QUIET = {"loglevel": "FATAL"}
_PARTS = {
    "a language model": (".lm", ".lm.gz", ".lm.bin", ".dmp"),
    "a dictionary": (".dict", ".dic"),
}


def load(model: str | None = None, *, threads: int = 1) -> PocketSphinxRecognizer:  # noqa: ARG001  # it uses one
    """PocketSphinx with the US English model of its wheel, or with the model in a folder."""
    if model is None:
        return PocketSphinxRecognizer(pocketsphinx.Decoder(**_QUIET), "pocketsphinx")
    try:
        name, files = _model_files(Path(model))
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", file=model) from None
    _check_loads(files, model)
    return PocketSphinxRecognizer(pocketsphinx.Decoder(**files, **_QUIET), name)


def _check_loads(files: dict[str, str], folder: str) -> None:
    """Load a model in another process first: PocketSphinx ends the process when it cannot read one."""
    options = json.dumps(files | _QUIET)
    code = "import json, sys, pocketsphinx; pocketsphinx.Decoder(**json.loads(sys.argv[1])).get_lm().prob(['a'])"
    done = subprocess.run([sys.executable, "-c", code, options], capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        named = ", ".join(Path(path).name for path in files.values())
        remedy = "Are these a model for PocketSphinx 5, whole, and do they belong together?"
        raise InputError(f"PocketSphinx cannot load {named}", file=folder, remedy=remedy)


def _model_files(folder: Path) -> tuple[str, dict[str, str]]:
    """The name of a model in a folder, and the decoder's options for its files."""
    if not folder.is_dir():
        remedy = "Name a folder with acoustic model, language model and dictionary, or none: pocketsphinx alone"
        raise InputError("there is no such folder", file=str(folder), remedy=remedy)
    acoustic = [path for path in (folder, *sorted(folder.iterdir())) if (path / "mdef").is_file()]
    if not acoustic:
        raise InputError("no acoustic model is here", file=str(folder), remedy="It is a folder with a file mdef")
    folders = [folder, acoustic[0]] if acoustic[0] != folder else [folder]
    language, dictionary = (_one_file(part, endings, folders) for part, endings in _PARTS.items())
    name = f"pocketsphinx-{folder.resolve().name}"
    return name, {"hmm": str(acoustic[0]), "lm": str(language), "dict": str(dictionary)}


def _one_file(part: str, endings: tuple[str, ...], folders: list[Path]) -> Path:
    paths = [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name.lower().endswith(endings) and "phone.lm" not in path.name.lower()
    ]
    if len(paths) != 1:
        listed = ", ".join(path.name for path in paths) or "none is here"
        remedy = f"It ends in {' or '.join(endings)}; put exactly one there"
        raise InputError(f"{part} is needed, and one only: {listed}", file=str(folders[0]), remedy=remedy)
    return paths[0]


class PocketSphinxRecognizer:
    """A loaded decoder."""

    def __init__(self, decoder: Any, name: str) -> None:
        self._decoder = decoder
        self._config = decoder.config
        weight, ascale = self._config["bestpathlw"], self._config["ascale"]
        self._weights = DecoderWeights(weight, math.log(self._config["wip"]) * weight / self._config["lw"])
        self.scales = Scales(1 / ascale, weight / ascale, self._weights.penalty / ascale)
        self._fillers = _fillers(decoder)
        self._language_model = _language_model(decoder)
        self.identity = RecognizerIdentity(
            name,
            version("pocketsphinx"),
            {
                "language_weight": weight,
                "word_insertion": self._config["wip"],
                "silence": self._config["silprob"],
                "filler": self._config["fillprob"],
                "beam": BEAM,
                "scales": asdict(self.scales),
            },
        )

    def recognize(self, samples: Samples) -> Lattice | NBestRecord:
        """The lattice of one segment, its nodes split by two words of history."""
        if len(samples) < SHORTEST * RATE or not np.ptp(samples) > 0:  # it finds words in digital silence
            return NOTHING
        draft = self._decode(samples)
        if draft is None:
            return NOTHING
        graph = self._graph(draft)
        tokens = Tokens()
        token_ids = [
            tokens.pair("", word) if node in graph.fillers or word in (START, END) else tokens.id(word)
            for node, word in enumerate(graph.words)
        ]
        raw = expand(
            graph,
            np.array(token_ids, np.int32),
            self._language_model,
            self._weights,
            beam=BEAM,
            most_arcs=MOST_ARCS,
            frame_rate=self._config["frate"],
        )
        return self._lattice(raw, tokens)

    def _decode(self, samples: Samples) -> SphinxLattice | None:
        """PocketSphinx's own lattice, None where it found no path through the audio."""
        decoder, pcm = self._decoder, np.clip(np.nan_to_num(samples), -1, 1)
        decoder.reinit_feat()  # else the noise estimate of the previous segment would carry over
        decoder.start_utt()
        try:
            decoder.process_raw((pcm * 32767).astype("<i2").tobytes(), full_utt=True)
        finally:
            decoder.end_utt()
        lattice = decoder.get_lattice() if decoder.hyp() is not None else None
        if lattice is None:
            return None
        with TemporaryDirectory() as folder:
            path = Path(folder) / "utterance.lat"
            lattice.write(str(path))
            with path.open("rb") as file:
                return parse(Stream(file, "PocketSphinx's lattice", path), ReadOptions())

    def _graph(self, draft: SphinxLattice) -> WordGraph:
        """The draft as a graph: the score for entering a filler is moved from the word before to the filler."""
        start, end = draft.counts["Initial"], draft.counts["Final"]
        words = list(draft.words)
        fillers = {node: self._fillers[word] for node, word in enumerate(words) if word in self._fillers}
        if fillers.pop(end, None) is not None:
            words[end] = END
        base = math.log(draft.settings["logbase"])
        links = [
            (source, target, score * base - fillers.get(target, 0.0))
            for (source, target), score in zip(draft.ends, draft.scores, strict=True)
        ]
        return WordGraph(words, fillers, draft.start, links, start, end, max(draft.last))

    def _lattice(self, raw: RawLattice, tokens: Tokens) -> Lattice:
        origin = Origin(format="sphinx", frame_length=1 / self._config["frate"], recognizer=self.identity.name)
        builder = Builder(tokens, Problems(), origin=origin)
        (batch,) = (*builder.add(replace(raw, scales=self.scales)), *builder.flush())
        return prune(batch, beam=BEAM * self.scales.acoustic)[0]


def _fillers(decoder: Any) -> dict[str, float]:
    """The words for silence and noise, with the scores that the decoder adds for them, unweighted."""
    config = decoder.config
    listed = Path(config["fdict"] or Path(config["hmm"]) / "noisedict")
    lines = listed.read_text("utf-8", "replace").splitlines() if listed.is_file() else []
    words = {line.split()[0] for line in lines if line.strip()} - {START, END}
    noise, silence = (_log(decoder, config[name]) for name in ("fillprob", "silprob"))
    return dict.fromkeys(words, noise) | {"<sil>": silence}


def _log(decoder: Any, probability: float) -> float:
    """A logarithm as the decoder adds it to acoustic scores, rounded as it rounds."""
    logmath = decoder.logmath
    return float(logmath.log_to_ln((int(logmath.log(probability)) >> _SHIFT) << _SHIFT))


def _language_model(decoder: Any) -> LanguageModel:
    """The decoder's own language model: natural log-probabilities of words given their history."""
    model, base = decoder.get_lm(), float(decoder.logmath.log_to_ln(1))

    @lru_cache(maxsize=200_000)
    def log_probability(ngram: tuple[str, ...]) -> float:
        return base * float(model.prob(list(ngram)))

    return log_probability
