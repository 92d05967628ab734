"""How to train: one list of options for both command lines, and whether this machine can. Imports without torch."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..base.errors import OptionError
from ..base.installation import install_command
from ..confidence.config import CELLS, HEADS, MERGES, check_choice

STOPS = ("nce", "eer")
EIGHTHS = 8


def _option(default: Any, text: str, choices: tuple[str, ...] = ()) -> Any:
    """A field that both command lines make an option of; without a text the option is not shown."""
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Sizes of the network and how it is trained."""

    head: str = _option(
        "normalised",
        "normalised: rivals share one probability; independent: the paper's, a sigmoid for each word.",
        tuple(HEADS),
    )
    cell: str = _option("lstm", "", CELLS)
    merge: str = _option("mean", "How states of arcs that meet become one.", MERGES)
    state: int = _option(128, "Size of a state.")
    hidden: int = _option(40, "Size of the hidden layer.")
    dimension: int = _option(25, "Size of learned word vectors.")
    buckets: int = _option(8192, "Buckets of character n-grams for learned word vectors.")
    embedding: str = _option("auto", "Word vectors: hashed n-grams, or none [a file's, if one is given].",
                             ("auto", "hashed", "table", "none"))  # fmt: skip
    skip: bool = _option(True, "The posterior goes straight to the output as well.")
    epochs: int = _option(60, "At most so many times over the data.")
    patience: int = _option(8, "Stop after so many epochs without a better one on dev.")
    stop: str = _option("nce", "Which measure on dev decides.", STOPS)
    rate: float = _option(2e-3, "Learning rate; halved after a third of the patience without a better epoch.")
    decay: float = _option(1e-4, "Weight decay.")
    drop: float = _option(0.1, "Share of inputs and states left out at random in training.")
    word_drop: float = _option(0.5, "Share of words whose learned vectors are left out at random in training.")
    evidence_drop: float = _option(
        0.3, "Share of utterances that are trained without an optional group of columns, for each group."
    )
    word_facts_drop: float = _option(
        0.0, "Share of utterances trained without word vectors, without frequencies, and without phone counts."
    )
    jitter: float = _option(0.0, "Spread of random factors and offsets of an utterance's scores in training.")
    embedding_rate: float = _option(0.1, "Learning rate of learned word vectors, as a share of the others'.")
    path_weight: float = _option(
        2.0, "Normalised: weight of the likelihood of the best path beside that of each word."
    )
    share_weight: float = _option(
        0.0, "Normalised: how much an arc's share of paths learns from whether its word is right."
    )
    gap: int = _option(16, "Size of the hidden layer of the head that tells where words are missing [0: no head].")
    gap_weight: float = _option(1.0, "Weight of missing words beside the words that are there.")
    average: float = _option(0.995, "Weights are averaged over about 1 / (1 - this) batches [0: not at all].")
    start: str = _option("", "Begin with the weights of this model: same sizes and word vectors.")
    identity_drop: float = _option(0.1, "With --together: share of batches that do not tell their recognizer.")
    taught: float = _option(0.5, "With --teachers: weight of their soft labels beside the labels of the data.")
    train_on_dev: bool = _option(
        False, "With --together: train on dev as well; all epochs are run at one rate, and the last one is kept."
    )
    batch_arcs: int = _option(0, "Arcs in a batch [0: 80 to 160 batches an epoch].")
    clip: float = _option(1.0, "Largest norm of a gradient.")
    folds: int = _option(0, "Leave out one of so many folds of speakers [0: none], to calibrate on it.")
    fold: int = _option(0, "Which one.")
    other_fold: int = _option(-1, "With --together: another one to leave out, for teachers [-1: none].")
    eighths: int = _option(8, "")  # of the speakers to train on, for learning curves
    trees: bool = _option(True, "Trees beside the network, where scikit-learn is installed and words are many.")
    seed: int = _option(0, "The same seed gives the same model.")

    def __post_init__(self) -> None:
        for name, least, most in (
            ("epochs", 1, 100_000), ("patience", 1, 100_000), ("rate", 1e-9, 10.0), ("decay", 0.0, 10.0),
            ("drop", 0.0, 0.95), ("word_drop", 0.0, 0.95), ("embedding_rate", 0.0, 10.0), ("path_weight", 0.0, 1e6),
            ("share_weight", 0.0, 1e6),
            ("gap", 0, 1000), ("gap_weight", 0.0, 1e6), ("average", 0.0, 0.99999), ("identity_drop", 0.0, 1.0),
            ("taught", 0.0, 1.0), ("batch_arcs", 0, 10**9),
            ("clip", 1e-9, 1e9), ("folds", 0, 1000), ("fold", 0, 999), ("other_fold", -1, 999),
            ("seed", 0, 2**31 - 1),
            ("evidence_drop", 0.0, 1.0), ("word_facts_drop", 0.0, 1.0), ("jitter", 0.0, 2.0), ("eighths", 1, EIGHTHS),
        ):  # fmt: skip
            if not least <= getattr(self, name) <= most:
                raise OptionError(f"{name} lies between {least:g} and {most:g}, not {getattr(self, name)}")
        for option in fields(self):
            if option.metadata["choices"]:
                check_choice(option.name, getattr(self, option.name), option.metadata["choices"])


# For one network of several recognizers: what was best out of fold for nine of them (docs/results.md).
MULTI_RECOGNIZER = TrainOptions(average=0.998, epochs=30, patience=6, decay=0.2, path_weight=0.5, share_weight=2.0)


def parse_seeds(text: str) -> list[int]:
    """Seeds as a command line has them: whole numbers joined by commas."""
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise OptionError(f"seeds are whole numbers joined by commas, not {text!r}") from None


def require_torch(otherwise: str) -> None:
    """Raise an `OptionError` that says how to install torch, or what to do `otherwise`."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionError(f"training needs torch: {install_command('train')} ({error}); {otherwise}") from None


def has_gpu(device: str) -> bool:
    """Whether this device (`cpu`, `cuda`, `cuda:1`, `auto`) is a GPU."""
    import torch

    return device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
