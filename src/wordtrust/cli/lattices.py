"""Verbs about lattices: info, convert, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from ..base.files import STDOUT, is_stream
from ..base.number_format import counted
from ..base.visible_text import json_text
from .inputs import Inputs, lattice_inputs
from .messages import echo, warn_of_odd_references
from .options import (
    PATH,
    claim_output,
    equate_option,
    glm_option,
    json_option,
    out_option,
    overwrite_option,
    plain_option,
    reference_option,
)

if TYPE_CHECKING:
    from ..lattices.lattice import Lattices
    from ..networks.equivalents import Equate


@click.command()
@lattice_inputs
@reference_option
@glm_option
@equate_option
@json_option
def info(inputs: Inputs, ref: Path | None, glm: Path | None, equate: Equate | None, *, as_json: bool) -> None:
    """Count what is in LATTICES: utterances, nodes, arcs, density, duration, words of the 1-best.

    With references, also the error rate of the 1-best and of the best path there is (the oracle), as words are
    written and with spellings equated.

    \b
    Example: wordtrust info exp/decode/lat.*.gz --words graph/words.txt --frame-length 0.03
    """
    from ..evaluation.corpus_counts import count_by_file, total
    from ..networks.equivalents import ALL
    from .tables import print_counts

    references = None if ref is None else inputs.references(ref, glm)
    files = count_by_file(inputs.batches("reading", references), references, ALL if equate is None else equate)
    if ref is not None:
        warn_of_odd_references(total(files.values()).one_best.wer, ref)
    if as_json:
        listed = {file: counts.to_dict() for file, counts in files.items()}
        echo(json_text(total(files.values()).to_dict() | {"files": listed}))
    elif files:
        print_counts(files)
    else:
        raise OptionError("no utterances found")


def lattice_inputs_and_out(command: Callable[..., None]) -> Callable[..., None]:
    """LATTICES and, as the last of them or as -o, OUT."""

    @out_option(type=PATH, help="OUT, where it is not the last argument.")
    @wraps(command)
    def wrapped(inputs: Inputs, out: Path | None, **rest: Any) -> None:
        if out is None:
            *paths, last = inputs.paths
            if not paths:
                raise OptionError(f"name the output after {last}: wordtrust convert {last} OUT")
            inputs, out = replace(inputs, paths=tuple(paths)), STDOUT if last == "-" else Path(last)
        command(inputs=inputs, out=out, **rest)

    return lattice_inputs(wrapped, "LATTICES... OUT")


@click.command()
@lattice_inputs_and_out
@click.option("--to", help="Write this format instead of the one that OUT's ending names.")
@click.option("--utt", "utts", multiple=True, help="Only this utterance (may be given more than once).")
@plain_option
@overwrite_option
def convert(
    inputs: Inputs, out: Path, to: str | None, utts: tuple[str, ...], *, plain: bool, overwrite: bool
) -> None:
    """Convert LATTICES to the format that OUT's ending names; - prints JSON lines, or what --to says.

    Transcripts that wordtrust wrote (.json, .jsonl, .parquet), and words that come with confidences (CTM, the JSON of
    recognizers), become .txt, .srt, .vtt, .html, .json, .jsonl, .ctm and .parquet too; those that
    a person checked in the page also .stm. OUT is written whole or not at all.

    \b
    Examples: wordtrust convert lat.1.gz corpus.store
              wordtrust convert lattices/ words.ctm
              wordtrust convert lat.1.gz picture.svg --utt utt-17
              wordtrust convert talk.json talk.srt
    """
    from ..evaluation.corpus_counts import CorpusCounts, count_lattices
    from ..formats import can_write, only_utterances, writable, write
    from ..networks.word_confidence import with_word_posteriors
    from ..transcripts.reader import are_ours
    from ..transcripts.writer import names_format

    _require_ending(out, to)
    claim_output(out, overwrite=overwrite)
    if names_format(out, to) and (not can_write(out, to) or are_ours(inputs.paths, inputs.options)):
        _convert_transcripts(inputs, out, to, utts, plain=plain)
        return
    if to in (None, "ctm") and (copied := inputs.copy_ctm("converting", out, utts=utts)):
        echo(f"{out}: {counted(copied[0], 'utterance')}, {counted(copied[1], 'word')} as NIST CTM")
        return
    chosen, done = writable(out, to), CorpusCounts()
    if chosen.name == "store" and is_stream(out):
        raise OptionError(f"{out}: a store is a folder, which does not go through a pipe; name a folder")

    def converted() -> Iterator[Lattices]:
        nonlocal done
        for batch in only_utterances(inputs.batches("converting"), utts):
            done += count_lattices(batch)
            yield with_word_posteriors(batch) if chosen.name == "ctm" else batch

    write(converted(), out, format=chosen.name, frame_length=inputs.options.frame_length)
    # CTM has the words of the 1-best only.
    size = counted(done.words, "word") if chosen.name == "ctm" else counted(done.arcs, "arc")
    count = f"{counted(done.utterances, 'utterance')}, {size}"
    echo(f"{out}: {count} as {chosen.title}", err=is_stream(out))


def _require_ending(out: Path, to: str | None) -> None:
    """A name without an ending may be a slip, and is no store unless that is said or there is one already."""
    from ..formats.inputs import STORE_FILE

    if to is None and not out.suffix and not is_stream(out) and not (out / STORE_FILE).is_file():
        raise OptionError(
            f"{out}: no ending names a format (`wordtrust formats`); for a store: {out}.store, or --to store"
        )


def _convert_transcripts(inputs: Inputs, out: Path, to: str | None, utts: tuple[str, ...], *, plain: bool) -> None:
    from ..transcripts.reader import convert_transcripts

    sources = inputs.transcripts("converting")
    transcripts, words = convert_transcripts(sources, out, format=to, utts=utts, plain=plain)
    echo(f"{out}: {counted(transcripts, 'transcript')}, {counted(words, 'word')}", err=is_stream(out))


@click.command()
def formats() -> None:
    """List the formats that can be read and written.

    \b
    Example: wordtrust formats
    """
    from ..formats import formats_by_name
    from .tables import print_formats

    print_formats(formats_by_name().values())
