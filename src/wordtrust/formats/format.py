"""What a format is, and the options that readers and writers share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.problems import Problems
from ..lattices.assemble import MAX_ARCS, Tokens
from ..lattices.lattice import Lattices
from ..lattices.text import DEFAULT, Normalizer
from ..lattices.weights import LARGEST_SCALE
from .inputs import Stream

PICKS = ("total", "average")
WORDS_FILES = ("words.txt", "words.txt.gz")
_ACOUSTIC_WEIGHTS = ("lmwt", "acoustic_scale")
_LARGEST = 1 << 20  # bytes of a recognizer.json


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read: None means "as the format has it, or as recognizer.json beside the file says"."""

    format: str | None = None
    words: Path | None = None  # symbol table: word ids to words
    frame_length: float | None = None  # seconds
    pick: str | None = None  # which N-best hypothesis the recognizer would print: total or average
    normalizer: Normalizer = DEFAULT
    max_arcs: int = MAX_ARCS  # of one utterance; more is taken for damage, or for something that needs pruning
    lmwt: float | None = None  # language model weight: acoustic scores are divided by it
    acoustic_scale: float | None = None  # the same as a factor
    word_ins_penalty: float | None = None  # cost of each word
    for_scoring: bool = False  # CTM: keep the times of words as written, and words whose confidences are no shares
    keep_silent: bool = False  # CTM: utterances that a comment says have no words are utterances
    keep_times: bool = False  # to be written again: times of words of CTM, phrases and speakers of words
    only_chosen: bool = False  # what a service chose, without its alternatives
    tokens: Tokens | None = field(default=None, repr=False, compare=False)  # shared by the files of one run

    def __post_init__(self) -> None:
        if self.frame_length is not None and not 0 < self.frame_length < 10:
            raise OptionError(
                f"the frame length is in seconds (0.01, or 0.03 for chain models), not {self.frame_length}"
            )
        if self.pick is not None and self.pick not in PICKS:
            raise OptionError(f"pick is one of {', '.join(PICKS)}, not {self.pick!r}")
        if self.lmwt is not None and self.acoustic_scale is not None:
            raise OptionError("an LMWT is one over an acoustic scale: give --lmwt or --acoustic-scale, not both")
        for name, value in (("LMWT", self.lmwt), ("acoustic scale", self.acoustic_scale)):
            if value is not None and not 1e-6 <= value <= 1e6:
                raise OptionError(f"the {name} is a number above 0, not {value:g}")
        if self.word_ins_penalty is not None and not abs(self.word_ins_penalty) <= LARGEST_SCALE:
            raise OptionError(f"the word insertion penalty is a number, not {self.word_ins_penalty:g}")

    @property
    def acoustic_weight(self) -> float | None:
        """What acoustic scores are multiplied by, where the options say it."""
        return self.acoustic_scale if self.lmwt is None else 1.0 / self.lmwt

    def shared_tokens(self) -> Tokens:
        """What tokens mean: the same table for all files of a run, so that each is worked out once."""
        return self.tokens or Tokens(self.normalizer)

    def beside(self, file: Path) -> ReadOptions:
        """These options, with what recognizer.json and a words.txt in the file's folder say where they are silent.

        What format a file has is seen in it: other files may lie there as well.
        """
        settings = _recognizer_json(file.parent)
        given = self.lmwt, self.acoustic_scale
        lmwt, acoustic_scale = (settings.get(name) for name in _ACOUSTIC_WEIGHTS) if given == (None, None) else given
        penalty = settings.get("word_ins_penalty") if self.word_ins_penalty is None else self.word_ins_penalty
        try:
            return replace(
                self,
                words=self.words or _words_file(file.parent, settings.get("words")),
                frame_length=self.frame_length or settings.get("frame_length"),
                pick=self.pick or settings.get("pick"),
                lmwt=lmwt,
                acoustic_scale=acoustic_scale,
                word_ins_penalty=penalty,
            )
        except OptionError as error:
            raise InputError(str(error), file=str(file.parent / "recognizer.json")) from None

    def too_many_arcs(self, arcs: int, **where: str) -> InputError:
        """The error for an utterance over `max_arcs`."""
        return InputError(
            f"the lattice has {arcs:,} arcs, more than {self.max_arcs:,}",
            remedy="Prune it (lattice-prune, a smaller lattice beam), or raise --max-arcs",
            **where,
        )


def recognizer_name(folder: Path) -> str:
    """What recognizer.json calls the recognizer, else the name of the folder it is in; nothing without that file."""
    if not (folder / "recognizer.json").is_file():
        return ""
    return str(_recognizer_json(folder).get("name") or folder.resolve().name)


def _words_file(folder: Path, named: str | None) -> Path | None:
    """The symbol table of a folder: what recognizer.json names, which has to lie in the folder, or words.txt."""
    if named is None:
        return next((folder / name for name in WORDS_FILES if (folder / name).is_file()), None)
    try:
        is_inside = (folder / named).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name with a NUL, a circle of links
        is_inside = False
    if not is_inside:
        raise InputError(
            f"the symbol table {named[:200]!r} lies outside of the folder",
            file=str(folder / "recognizer.json"),
            remedy="Copy it into the folder, or name it on the command line with --words",
        )
    return folder / named


def _recognizer_json(folder: Path) -> dict[str, Any]:
    path = folder / "recognizer.json"
    if not os.path.isfile(path):
        return {}
    remedy = 'It is an object such as {"format": "kaldi", "words": "words.txt", "frame_length": 0.03}'
    try:
        settings = json_checks.record(json_checks.load(path, most=_LARGEST), "recognizer.json")
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path)) from None
    except InputError as error:
        raise InputError(error.found, file=str(path), remedy=remedy) from None
    types: dict[str, tuple[type, ...]] = dict.fromkeys(("name", "format", "words", "pick"), (str,))
    types |= dict.fromkeys(("frame_length", *_ACOUSTIC_WEIGHTS, "word_ins_penalty"), (int, float))
    if any(
        key in settings and (not isinstance(settings[key], kind) or isinstance(settings[key], bool))
        for key, kind in types.items()
    ):
        raise InputError("a field has the wrong type", file=str(path), remedy=remedy)
    return settings


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write."""

    frame_length: float | None = None  # seconds; None: what the lattices were read with, else 0.01


def never(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """The sniffer of formats that are only written."""
    return 0.0


Reader = Callable[[Stream, ReadOptions, Problems], Iterator[Lattices]]
Writer = Callable[[Iterable[Lattices], Path, WriteOptions], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how to recognise, read and write it."""

    name: str  # on the command line: --format NAME
    title: str  # for people
    suffixes: tuple[str, ...]  # of file names, .gz taken off
    sniff: Callable[[bytes, str], float]  # first bytes and file name: 0 (no) to 1 (surely), from the content
    read: Reader | None = None
    write: Writer | None = None
    # From the first bytes: whether we wrote it, with its scales, so that these hold whatever scores look like.
    keeps_scales: Callable[[bytes], bool] = lambda head: False  # noqa: ARG005
    keeps_words: bool = False  # normalised words are in the file, made when what it was made from was read
