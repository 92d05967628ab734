"""Training for speech that differs from the training data: what may not hold elsewhere is varied at random.

Word vectors, frequencies and phone counts tell which words are likely in the training data, and scores lie where the
recognizer puts them on such speech. Utterances that are trained without some of that, or with other scores, keep a
model from relying on it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from .lattice_rnn import Batch
from .options import TrainOptions

FREQUENCIES, PHONES = ("frequency",), ("phones", "phone_rate")
SCORES = (
    "transition", "acoustic", "acoustic_rate", "logprob", "least_token_logprob", "eot_logprob", "empty_logprob",
    "token_entropy", "token_margin", "lm_logprob", "lm_next_logprob",
)  # fmt: skip


def varied(batch: Batch, columns: Sequence[str], options: TrainOptions) -> Batch:
    """The batch as training sees it this time; as it is where no option says otherwise."""
    if options.word_facts_drop:
        batch = _without_word_facts(batch, columns, options.word_facts_drop)
    return _with_jitter(batch, columns, options.jitter) if options.jitter else batch


def _without_word_facts(batch: Batch, columns: Sequence[str], share: float) -> Batch:
    """In this share of the utterances no word vectors; likewise no frequencies, and no phone counts."""
    kept = torch.ones(batch.utterances, len(columns))
    for group in (FREQUENCIES, PHONES):
        indices = [index for index, column in enumerate(columns) if column in group]
        kept[:, indices] = (torch.rand(batch.utterances, 1) >= share).float()
    unnamed = (torch.rand(batch.utterances) < share).to(batch.word.device)[batch.utterance]
    nobody = torch.full_like(batch.word, len(batch.vectors))  # one word more, without buckets and vector
    end = torch.full_like(batch.bucket_offsets[:1], len(batch.buckets))
    return replace(
        batch,
        features=batch.features * kept.to(batch.features.device)[batch.utterance],
        word=torch.where(unnamed, nobody, batch.word),
        bucket_offsets=torch.cat([batch.bucket_offsets, end]),
        vectors=torch.cat([batch.vectors, torch.zeros_like(batch.vectors[:1])]),
    )


def _with_jitter(batch: Batch, columns: Sequence[str], spread: float) -> Batch:
    """Scores of each utterance multiplied and moved at random, each column for itself; what is 0 stays."""
    chosen = torch.tensor([column in SCORES for column in columns])
    factor = torch.exp(spread * torch.randn(batch.utterances, len(columns))) * chosen + ~chosen
    offset = spread * torch.randn(batch.utterances, len(columns)) * chosen
    device, utterance = batch.features.device, batch.utterance
    moved = batch.features * factor.to(device)[utterance] + offset.to(device)[utterance]
    return replace(batch, features=torch.where(batch.features == 0, batch.features, moved))
