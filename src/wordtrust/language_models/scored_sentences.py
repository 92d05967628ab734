"""Sentences scored elsewhere: on a machine with a GPU that has no lattices and no tokenizer.

1. `export_sentences` writes the tries of the best sentences of networks to a file;
2. `score_file` gives every word its log-probability (numpy, torch, safetensors and transformers are needed, no more);
3. `ScoredSentences` is a language model that looks them up: for `wordtrust build --lm FILE`.

Sentences are known by a hash of their words, so that one file serves any number of stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_items
from ..base.errors import InputError
from ..base.tensors import read_tensors, write_tensors
from .tries import Numbers, Reals, TokenTries

if TYPE_CHECKING:
    from ..lattices.lattice import Lattices
    from .causal import CausalModel
    from .language_model import Sentence
    from .tokens import Tokens

KIND_TRIES, KIND_SCORED = "wordtrust sentences", "wordtrust scored sentences"
VERSION = 1
CHUNK = 256  # utterances scored at a time
_REMEDY = "Make it again: python -m wordtrust.language_models"


def is_tensor_file(head: bytes) -> bool:
    """Whether a file that begins so may be one of safetensors: the length of a header, and JSON."""
    return len(head) > 8 and int.from_bytes(head[:8], "little") < 1 << 27 and head[8:9] == b"{"


def digest(sentences: Sequence[Sentence]) -> bytes:
    """What the hypotheses of an utterance are known by."""
    text = "\n".join(" ".join(sentence) for sentence in sentences)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def export_sentences(batches: Iterable[Lattices], tokens: Tokens, model: str, k: int, out: Path) -> tuple[int, int]:
    """Write the tries of the best sentences of networks, and of those that a model is known by.

    Gives how many utterances and tokens are in the file.
    """
    from .best_sentences import BestSentences
    from .fingerprint import SENTENCES

    parts = [TokenTries.of(tokens.paths([SENTENCES]))]
    known: dict[bytes, None] = {digest(SENTENCES): None}
    for networks in batches:
        fresh: dict[bytes, Sequence[Sentence]] = {}
        for sentences in BestSentences.of(networks, k, surfaces=True).words:
            if (key := digest(sentences)) not in known:
                fresh[key] = sentences
        known |= dict.fromkeys(fresh)
        parts.append(TokenTries.of(tokens.paths(list(fresh.values()))))
    tries = TokenTries.concatenate(parts)
    about = {"kind": KIND_TRIES, "version": VERSION, "model": model, "start": tokens.start, "k": k}
    keys = np.frombuffer(b"".join(known), np.uint8).reshape(-1, 16)
    write_tensors(out, {"digest": keys, **_packed(tries)}, about)
    return len(tries), len(tries.token)


def score_file(path: Path, weights: CausalModel, out: Path) -> Iterator[tuple[int, int]]:
    """Score the sentences of a file; yields how many utterances are done, of how many."""
    arrays, about = _read(path, KIND_TRIES)
    try:
        tries, start, keys = _unpacked(arrays), int(about["start"]), arrays["digest"]
        if len(keys) != len(tries):
            raise ValueError("keys and tries do not fit")
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"not what wordtrust wrote: {error}", file=str(path), remedy=_REMEDY) from None
    order = np.argsort(np.diff(tries.offsets), kind="stable")  # tries of one size together: rows of one length
    values: list[Any] = [None] * len(tries)
    for first in range(0, len(order), CHUNK):
        rows = order[first : first + CHUNK]
        part = tries.select(rows)
        scored = part.word_logprobs(weights.score(part, start)).astype(np.float32)
        for row, value in zip(rows.tolist(), np.split(scored, part.end_offsets[1:-1]), strict=True):
            values[row] = value
        yield min(first + CHUNK, len(order)), len(order)
    joined = np.concatenate([np.zeros(0, np.float32), *values])
    write_tensors(
        out, {"digest": keys, "offsets": tries.end_offsets, "logprob": joined}, {**about, "kind": KIND_SCORED}
    )


class ScoredSentences:
    """A language model that has read its sentences before."""

    reads_surfaces = True

    def __init__(
        self, file: str, about: dict[str, Any], keys: NDArray[np.uint8], offsets: Numbers, logprob: Reals
    ) -> None:
        self.name, self.k = str(about["model"]), int(about["k"])  # of the model that has read them; of an utterance
        self._file = file
        self._rows = {key.tobytes(): row for row, key in enumerate(keys)}
        self._offsets, self._logprob = offsets, logprob

    @classmethod
    def load(cls, path: Path) -> ScoredSentences:
        """What `score_file` wrote."""
        arrays, about = _read(path, KIND_SCORED)
        try:
            keys, offsets, logprob = arrays["digest"], arrays["offsets"], arrays["logprob"].astype(np.float64)
            fits = keys.shape == (len(offsets) - 1, 16) and keys.dtype == np.uint8 and offsets.dtype == np.int64
            if not fits or offsets[0] != 0 or offsets[-1] != len(logprob) or (np.diff(offsets) < 0).any():
                raise ValueError("its arrays do not fit together")
            if not np.isfinite(logprob).all():
                raise ValueError("a log-probability is no number")
            return cls(str(path), about, keys, offsets, logprob)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise InputError(f"not what wordtrust wrote: {error}", file=str(path), remedy=_REMEDY) from None

    def word_logprobs(self, utterances: Sequence[Sequence[Sentence]]) -> Reals:
        """The log-probability of each word of each hypothesis, and 0 for its end."""
        rows = np.array([self._row(sentences) for sentences in utterances], np.int64)
        values: Reals = self._logprob[csr_items(self._offsets, rows)]
        return values

    def _row(self, sentences: Sequence[Sentence]) -> int:
        row = self._rows.get(digest(sentences))
        wanted = sum(len(sentence) + 1 for sentence in sentences)
        if row is None or self._offsets[row + 1] - self._offsets[row] != wanted:
            best = " ".join(sentences[0])[:60] if sentences else ""
            raise InputError(
                f"it has no scores for the {len(sentences)} best sentences of an utterance: {best!r}, ...",
                file=self._file,
                remedy="Export the sentences of these networks, with the same --paths, and score them",
            )
        return row


def _read(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    arrays, about = read_tensors(path)
    if about.get("kind") != kind or about.get("version") != VERSION:
        found = f"this is {str(about.get('kind'))[:40]!r} of version {str(about.get('version'))[:10]}, not {kind!r}"
        raise InputError(found, file=str(path), remedy=_REMEDY)
    return arrays, about


_FIELDS = ("offsets", "token", "parent", "end_offsets", "end", "before")


def _packed(tries: TokenTries) -> dict[str, NDArray[Any]]:
    """The arrays in as few bytes as their numbers need; -1 stands at starts only, and is left out."""
    packed = {name: np.maximum(getattr(tries, name), 0) for name in _FIELDS}
    return {name: values.astype(np.min_scalar_type(int(values.max(initial=0)))) for name, values in packed.items()}


def _unpacked(arrays: dict[str, NDArray[Any]]) -> TokenTries:
    """The tries again, checked: every node after its parent, every end a node."""
    values = {name: arrays[name].astype(np.int64) for name in _FIELDS}
    starts, counts = values["offsets"][:-1], np.diff(values["offsets"])
    if values["offsets"][0] != 0 or (counts < 1).any() or values["offsets"][-1] != len(values["token"]):
        raise ValueError("its tries do not fit together")
    values["token"][starts] = values["parent"][starts] = -1
    place = np.arange(len(values["token"])) - np.repeat(starts, counts)
    is_start = place == 0
    if len(values["parent"]) != len(place) or not (values["parent"][~is_start] < place[~is_start]).all():
        raise ValueError("a token comes before its parent")
    ends, nodes = np.diff(values["end_offsets"]), counts
    if values["end_offsets"][0] != 0 or (ends < 0).any() or len(ends) != len(counts):
        raise ValueError("its words do not fit its tries")
    if len(values["end"]) != values["end_offsets"][-1] or len(values["before"]) != len(values["end"]):
        raise ValueError("its words do not fit its tries")
    limit = np.repeat(nodes, ends)
    if not ((values["end"] < limit).all() and (values["before"] < limit).all()):
        raise ValueError("a word ends outside its trie")
    return TokenTries(**values)
