"""Files of any recognizer to `Lattices` and back: one module or folder for each format, all through the lattice.

`read` and `stream` recognise the format by the content, `write` by the name of the output. A map:

    format              what a format is (`Format`), the options of readers and writers, recognizer.json
    inputs              files, folders, globs and archives as streams of bytes
    time_checks         whether times can be true
    word_checks         whether words differ in accents only
    scaling             how acoustic and language scores are weighed: options, and unscaled scores recognised
    batches             files, folders and globs, or lattices that were read already, as batches of lattices

    store/              our own: parquet files and a store.json, for corpora
    kaldi/              text, binary, script files
    htk/                Standard Lattice Format, as HTK, SRILM and PocketSphinx write it
    sphinx, openfst, jsonl, ctm, trn, nbest/
    kept_times          times of words as files have them, beside lattices
    ctm_lines           from CTM to CTM, line by line: other confidences, and nothing else
    transcript/         our own transcripts: .json, .jsonl, .parquet
    onebest/            JSON of Whisper, Vosk and speech services; subtitles; plain text
    drawing             Graphviz and SVG, written only

    symbols             words.txt: numbers to words
    frames              lattices with an arc a frame, joined to words
    digits, interning   numbers and equal words in text, for compiled parsers
    parquet_checks      how much is in a parquet file, before it is unpacked
    chains              utterances that are one path, for transcripts and N-best lists
    references/         what was really said: tables, Kaldi's text, STM, TRN, GLM rules

A new format is one new module with a `FORMAT` (or several `FORMATS`), its name in _MODULES, and a sample file in
tests/samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from ..base.errors import InputError, OptionError, UnknownFormat, WordtrustWarning
from ..base.files import is_stream
from ..base.json_checks import parse
from ..base.number_format import counted
from ..base.problems import Problems
from ..base.visible_text import visible
from ..lattices.assemble import Tokens
from ..lattices.batching import SomeLattices, as_batches, reject_transcripts
from ..lattices.lattice import Lattices, concatenate
from ..lattices.text import DEFAULT, Normalizer
from .format import Format, ReadOptions, WriteOptions, recognizer_name
from .inputs import HEAD, Stream, listed_paths, streams
from .onebest.service_errors import refuse_service_error
from .scaling import ReadBatch, weighed
from .time_checks import with_checked_times
from .word_checks import with_checked_words

# In the order in which equally sure ones are tried.
_MODULES = (
    "store", "kaldi", "htk", "sphinx", "openfst", "jsonl", "nbest", "transcript", "ctm", "trn",
    "onebest.whisper", "onebest.vosk", "onebest.google", "onebest.amazon", "onebest.azure",
    "onebest.deepgram", "onebest.assemblyai", "onebest.sherpa", "onebest.nemo",
    "onebest.srt", "onebest.vtt", "onebest.plain_text", "drawing",
)  # fmt: skip

_SOUND = (b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"FORM")  # the first bytes of audio files


@cache
def formats_by_name() -> dict[str, Format]:
    """All formats by name."""
    modules = [import_module(f".{name}", __name__) for name in _MODULES]
    return {fmt.name: fmt for module in modules for fmt in getattr(module, "FORMATS", ()) or (module.FORMAT,)}


def stream_files(
    paths: str | Path | Iterable[str | Path],
    options: ReadOptions = ReadOptions(),
    problems: Problems | None = None,
    *,
    watch: Callable[[int], None] | None = None,
    notify: Callable[[str], None] | None = None,
) -> Iterator[Lattices]:
    """Batches of lattices out of any mix of files, folders and globs, in bounded memory: what `stream` is made of.

    Bad input raises an `InputError`, or goes to `problems` when that says to skip it. `watch` is told the number of
    bytes after every read, `notify` what was found out about scores and times (without it, that is a warning).
    """
    problems = problems or Problems()
    options = replace(options, tokens=Tokens(options.normalizer))
    say = notify or _warn
    read = _read_files(
        known_streams(listed_paths(paths), options.format, problems, watch=watch, notify=say), options, problems
    )
    yield from with_checked_times(weighed(with_checked_words(read, say), say), say)


def known_streams(
    paths: Sequence[str | Path],
    family: str | None = None,
    problems: Problems | None = None,
    *,
    watch: Callable[[int], None] | None = None,
    notify: Callable[[str], None] | None = None,
) -> Iterator[tuple[Stream, Format]]:
    """All inputs that `paths` name, each with its format. Use each before asking for the next.

    A folder may hold other things: where something in it is known, files of no known format are passed over, and
    `notify` is told how many. A file that is named itself must be known.
    """
    problems, known, passed_over = problems or Problems(), set[str](), list[tuple[str, UnknownFormat]]()
    for source in streams(paths, problems, watch):
        try:
            fmt = detect_format(source, family)
        except InputError as error:
            if source.folder and isinstance(error, UnknownFormat):
                passed_over.append((source.folder, error))
            else:
                problems.report(error.at(file=source.name))
            continue
        known.add(source.folder)
        yield source, fmt
    for folder, unknown in passed_over:
        if folder not in known:
            problems.report(unknown)
    passed = [unknown.file for folder, unknown in passed_over if folder in known]
    if passed:
        (notify or _warn)(f"passed over {counted(len(passed), 'file')} of no known format, e.g. {passed[0]}")


def _read_files(
    sources: Iterable[tuple[Stream, Format]], options: ReadOptions, problems: Problems
) -> Iterator[ReadBatch]:
    """Batches as they are in files."""
    for source, fmt in sources:
        try:
            own_options = options.beside(source.path)
            assert fmt.read is not None
            _require_words_to_make(fmt, options)
            keeps_scales = fmt.keeps_scales(source.head(HEAD))
            for batch in _named(fmt.read(source, own_options, problems), source):
                yield ReadBatch(source.path.parent, keeps_scales, fmt.keeps_words, batch, options, own_options)
        except InputError as error:
            problems.report(error.at(file=source.name))


def _require_words_to_make(fmt: Format, options: ReadOptions) -> None:
    if options.normalizer.as_written and fmt.keeps_words:
        raise InputError(
            "words are normalised in this file, and cannot be compared as they were written",
            remedy="Give --as-written (the normalizer) where the lattices of the recognizer are read, not here",
        )


def _named(batches: Iterable[Lattices], source: Stream) -> Iterator[Lattices]:
    """The batches, with what was read and, where a recognizer.json beside it tells it, the name of the recognizer."""
    name = recognizer_name(source.path.parent)
    for batch in batches:
        container = "" if batch.origin.file == source.name else source.name
        origin = replace(batch.origin, recognizer=batch.origin.recognizer or name, container=container)
        is_said = origin == batch.origin and container == batch.origin.container
        yield batch if is_said else replace(batch, origin=origin)


def stream(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,  # noqa: A002  # the user's word for it
    words: str | Path | None = None,
    frame_length: float | None = None,
    pick: str | None = None,
    lmwt: float | None = None,
    acoustic_scale: float | None = None,
    word_ins_penalty: float | None = None,
    normalizer: Normalizer = DEFAULT,
    skip_bad: bool = False,
) -> Iterator[Lattices]:
    """Batches of lattices out of any mix of files, folders and globs, in bounded memory.

    Options are those of `read`. Bad input raises an `InputError`; with `skip_bad` it is left out with a warning.
    """
    options = ReadOptions(
        format, None if words is None else Path(words), frame_length, pick, normalizer, lmwt=lmwt,
        acoustic_scale=acoustic_scale, word_ins_penalty=word_ins_penalty,
    )  # fmt: skip
    return stream_files(paths, options, Problems(skip=skip_bad, notify=_warn_of_skipped))


def read(
    path: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,  # noqa: A002  # the user's word for it
    words: str | Path | None = None,
    frame_length: float | None = None,
    pick: str | None = None,
    lmwt: float | None = None,
    acoustic_scale: float | None = None,
    word_ins_penalty: float | None = None,
    normalizer: Normalizer = DEFAULT,
    skip_bad: bool = False,
) -> Lattices:
    """All lattices of a file, folder or pattern, in memory. For corpora larger than that use `stream`.

    Acoustic scores are divided by `lmwt` or multiplied by `acoustic_scale`, and each word costs `word_ins_penalty`,
    as in Kaldi's scoring; without these, unscaled scores are recognised and scaled, with a warning. Bad input raises
    an `InputError`; with `skip_bad` it is left out with a warning.
    """
    batches = list(
        stream(
            path, format=format, words=words, frame_length=frame_length, pick=pick, lmwt=lmwt,
            acoustic_scale=acoustic_scale, word_ins_penalty=word_ins_penalty, normalizer=normalizer,
            skip_bad=skip_bad,
        )
    )  # fmt: skip
    try:
        return concatenate(batches)
    except ValueError as error:
        raise OptionError(f"{path}: {error}; wordtrust.stream gives them batch by batch") from None


def _warn_of_skipped(error: InputError) -> None:
    _warn(f"skipped: {error}")


def _warn(message: str) -> None:
    warnings.warn(message, WordtrustWarning, stacklevel=2)


def only_utterances(batches: Iterable[Lattices], utts: Iterable[str]) -> Iterator[Lattices]:
    """These utterances of all batches, or everything if none is named; a name without an utterance is an error."""
    wanted, present = set(utts), set[str]()
    if not wanted:
        yield from batches
        return
    for batch in batches:
        for lattice in batch:
            if lattice.utt in wanted:
                present.add(lattice.utt)
                yield lattice.batch()
    if missing := wanted - present:
        raise OptionError(f"no utterance {', '.join(sorted(missing))} in the input")


def write(
    lattices: SomeLattices,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the user's word for it
    frame_length: float | None = None,
) -> None:
    """Write lattices in the format that the name of `path` says (or `format`). Nothing half-written is left.

    `frame_length` (seconds) is for formats that count time in frames: by default what was read, else 0.01.
    """
    path = Path(path)
    reject_transcripts(lattices)
    writer = writable(path, format).write
    assert writer is not None
    writer(as_batches(lattices), path, WriteOptions(frame_length))


def can_write(path: Path, name: str | None = None) -> bool:
    """Whether lattices can be written to `path`, in the format of this name or the one that its ending says."""
    try:
        return writable(path, name) is not None
    except OptionError:
        return False


def writable(path: Path, name: str | None = None) -> Format:
    """The format to write `path` in."""
    writers = {fmt.name: fmt for fmt in formats_by_name().values() if fmt.write}
    if name is not None:
        if name not in writers:
            raise OptionError(f"cannot write the format {name!r}; these can be written: {', '.join(writers)}")
        return writers[name]
    plain = path.name.lower().removesuffix(".gz")
    for fmt in writers.values():
        if any(plain.endswith(suffix) for suffix in fmt.suffixes):
            return fmt
    if not path.suffix:
        return writers["jsonl" if is_stream(path) else "store"]
    listed = ", ".join(f"{'/'.join(fmt.suffixes)} ({fmt.name})" for fmt in writers.values())
    raise OptionError(
        f"{path}: the ending names no format that lattices are written in. Known: {listed}; or say which (--to; "
        "format=). Words that have confidences also go to .txt, .srt, .vtt and .html; those without get some from "
        "wordtrust score; scorer(lattices).save(...)"
    )


def read_stream(source: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The batches of one open input, its format recognised, with scores weighed as the file says."""
    reader = detect_format(source, options.format).read
    assert reader is not None
    yield from reader(source, options, problems)


def format_names(paths: str | Path | Iterable[str | Path]) -> set[str]:
    """The names of the formats of files, by their first bytes."""
    return {fmt.name for _, fmt in known_streams(listed_paths(paths), notify=lambda _: None)}


def detect_format(source: Stream, family: str | None = None) -> Format:
    """The format of a stream, by its first bytes; its name only breaks ties.

    `family` narrows the choice: a format's name, or what comes before the hyphen ("kaldi" for "kaldi-text").
    """
    candidates = _candidates(family)
    if len(candidates) == 1:
        return candidates[0]
    head = source.head(HEAD)
    if not head and not source.path.is_dir():
        raise source.error("the file is empty", remedy="Was the recognizer interrupted?")
    name = source.name.lower().removesuffix(".gz")
    # Those whose ending fits first: they are nearly always right, and a sure one ends the search.
    candidates.sort(key=lambda fmt: not any(name.endswith(suffix) for suffix in fmt.suffixes))
    best, surest = candidates[0], 0.0
    for fmt in candidates:
        sure = fmt.sniff(head, name)
        if sure > surest:
            best, surest = fmt, sure
        if surest >= 1:
            break
    if head.startswith(_SOUND) or (head[:4] == b"RIFF" and head[8:12] == b"WAVE"):
        remedy = f"Turn it into words with: wordtrust transcribe {source.name}"
        raise UnknownFormat("this is audio", file=source.name, remedy=remedy)
    if surest < 0.5:
        _refuse_service_error(source, head)
        raise _unknown(source, head, best if surest > 0 else None)
    return best


def _refuse_service_error(source: Stream, head: bytes) -> None:
    """Raise what a speech service says went wrong, where the file is its answer."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or len(head) >= HEAD:
        return
    try:
        document = parse(head)
    except InputError:
        return
    if document == {}:
        remedy = "There are no words to read; go on without it (--skip-bad)"
        raise source.error("an empty answer, as services give where nothing was said", remedy=remedy)
    try:
        refuse_service_error(document)
    except InputError as error:
        raise error.at(file=source.name) from None


def _candidates(family: str | None) -> list[Format]:
    readable = [fmt for fmt in formats_by_name().values() if fmt.read]
    matching = [fmt for fmt in readable if family in (None, fmt.name, fmt.name.partition("-")[0])]
    if not matching:
        raise OptionError(f"cannot read the format {family!r}; known: {', '.join(fmt.name for fmt in readable)}")
    return matching


def _unknown(source: Stream, head: bytes, nearest: Format | None) -> UnknownFormat:
    from .kaldi.binary import NO_LATTICE, other_graph

    if graph := other_graph(head):
        return UnknownFormat(f"this is {graph}", file=source.name, remedy=NO_LATTICE)
    names = ", ".join(fmt.name for fmt in formats_by_name().values() if fmt.read)
    guess = f"The nearest is {nearest.title}: try --format {nearest.name}. " if nearest else ""
    return UnknownFormat(
        f"no known format: it begins with {_beginning(head)}",
        file=source.name,
        remedy=f"{guess}Known formats: {names}",
    )


def _beginning(head: bytes) -> str:
    """Text as text, other things as numbers."""
    text = " ".join(head[:40].decode("utf-8", "replace").rstrip("\ufffd").split())  # its last letter may be cut
    return f'"{text}"' if text and text == visible(text) and "\ufffd" not in text else f"bytes {head[:16].hex(' ')}"
