"""CTC models of transformers (wav2vec 2.0, HuBERT, data2vec and others): N-best lists by prefix beam search.

`load("NAME")` takes a folder or the name of a model on the hub, which transformers downloads. Only weights in
safetensors are read: the older .bin files are pickles, which can run code, and no code that comes with a model runs.

Hypotheses have exact scores: the sum over all their paths, as a chain of one probability for each label given those
before it. Times are those of the most probable path.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ...audio import RATE, Samples
from ...base.errors import InputError, OptionError
from ..base import NOTHING, ForcedScores, NBestRecord, RecognizerIdentity
from ..forced import unscored
from ..kept_encodings import KeptEncodings
from .alphabet import Alphabet
from .forced import score_text
from .search import Reals, nbest

BEAM = 64
CUT = -10.0  # labels less probable than this do not start in a frame
HYPOTHESES = 20
SHORTEST = 0.1  # seconds; the models need a frame or two


def load(model: str | None = None, *, threads: int = 1) -> CtcRecognizer:
    """A CTC model by its folder or its name on the hub."""
    if not model:
        raise OptionError("transformers needs a model: --recognizer transformers=FOLDER, or a name on the hub")
    _check_weights(Path(model))
    torch.set_num_threads(threads)
    transformers.utils.logging.disable_progress_bar()
    try:
        extractor = transformers.AutoFeatureExtractor.from_pretrained(model, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
        network = transformers.AutoModelForCTC.from_pretrained(model, trust_remote_code=False, use_safetensors=True)
    except Exception as error:  # what transformers and the hub raise about bad models has no common root
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        remedy = "A model for CTC with its preprocessor, vocabulary and weights (model.safetensors) is needed"
        raise InputError(f"transformers cannot load this model: {reason}", file=model, remedy=remedy) from None
    return CtcRecognizer(model, network.eval(), extractor, tokenizer)


def _check_weights(folder: Path) -> None:
    """Refuse a folder that has only pickled weights."""
    if folder.is_dir() and not any(folder.glob("*.safetensors")) and any(folder.glob("*.bin")):
        raise InputError(
            "its weights are in .bin files, which are pickles and can run code; they are not read",
            file=str(folder),
            remedy="Convert them where you trust them: model.save_pretrained(FOLDER) writes model.safetensors",
        )


class CtcRecognizer:
    """A loaded model."""

    def __init__(self, model: str, network: Any, extractor: Any, tokenizer: Any) -> None:
        rate = getattr(extractor, "sampling_rate", RATE)
        if rate != RATE:
            message = f"the model wants {rate} samples a second"
            raise InputError(message, file=model, remedy=f"Only {RATE} is supported")
        self._network, self._extractor = network, extractor
        self._alphabet = _alphabet(model, network, tokenizer)
        self.encodings = KeptEncodings(self.log_probabilities)
        self.identity = RecognizerIdentity(
            f"ctc-{Path(model).resolve().name if Path(model).is_dir() else model.rpartition('/')[2]}",
            transformers.__version__,
            {"model": model, "beam": BEAM, "cut": CUT, "hypotheses": HYPOTHESES},
        )

    def recognize(self, samples: Samples) -> NBestRecord:
        """The most probable hypotheses, with words, scores and times."""
        if len(samples) < SHORTEST * RATE:
            return NOTHING
        frames = self.encodings.of(samples)
        if not len(frames):
            return NOTHING
        seconds = len(samples) / RATE
        ratio = getattr(self._network.config, "inputs_to_logits_ratio", None)  # samples per frame
        step = ratio / RATE if ratio else seconds / len(frames)
        return nbest(frames, self._alphabet, beam=BEAM, cut=CUT, hypotheses=HYPOTHESES, seconds=seconds, step=step)

    def score_texts(self, samples: Samples, texts: Sequence[Sequence[str]]) -> list[ForcedScores]:
        """What it thinks of each of these texts; one pass of the network."""
        if not texts or len(samples) < SHORTEST * RATE:
            return [unscored(text) for text in texts]
        frames = self.encodings.of(samples)
        return [score_text(frames, self._alphabet, text) for text in texts]

    def log_probabilities(self, samples: Samples) -> Reals:
        """[frames, labels] log-probabilities."""
        inputs = self._extractor(np.nan_to_num(samples), sampling_rate=RATE, return_tensors="pt")
        with torch.inference_mode():
            logits = self._network(**inputs).logits[0].double()
            frames: Reals = torch.log_softmax(logits, -1).numpy()
        if not np.isfinite(frames).all():
            remedy = "Are its weights whole, and meant for CTC?"
            raise InputError("the model's output has values that are no numbers", remedy=remedy)
        return frames


def _alphabet(model: str, network: Any, tokenizer: Any) -> Alphabet:
    """The model's labels: the blank is what it pads with, and other special ones are never part of a text."""
    size, blank = network.config.vocab_size, network.config.pad_token_id
    delimiter = getattr(tokenizer, "word_delimiter_token_id", None)
    tokens = [token or "" for token in tokenizer.convert_ids_to_tokens(range(min(size, len(tokenizer))))]
    tokens += [""] * (size - len(tokens))
    if blank is None or not 0 <= blank < size:
        raise InputError(
            f"the model names no label for the blank (pad_token_id is {blank})",
            file=model,
            remedy="Set pad_token_id in its config.json to the label of CTC's blank",
        )
    special = {blank, *tokenizer.all_special_ids} - {delimiter}
    spoken = [label for label, token in enumerate(tokens) if token and label not in special]
    if not spoken:
        raise InputError("the model's vocabulary has no letters", file=model, remedy="Is its vocab.json whole?")
    if getattr(tokenizer, "do_lower_case", False):
        tokens = [token.lower() for token in tokens]
    return Alphabet(tokens, blank, np.array(spoken, np.int64), delimiter)
