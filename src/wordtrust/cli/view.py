"""The verb view: a transcript with its audio, in the browser."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import click

from ..base.errors import OptionError
from ..base.locks import claimed
from .inputs import announce_compilation
from .messages import echo, notify


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--audio", multiple=True, metavar="FILE",
              help="The audio [what the transcript names, or what lies beside it]. Several, for as many recordings: "
                   "by name.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default="a free one", help="The port.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def view(files: tuple[str, ...], audio: tuple[str, ...], port: int, *, no_browser: bool) -> None:
    """Listen to a transcript and correct it, in the browser of this machine.

    FILE is any file of words with confidences: our own (.json, .jsonl, .parquet) or a service's. What several
    recognizers made of the same recording is shown side by side; the first FILE is the one that is corrected. What is
    changed is kept in FILE.review.json, and is there again the next time; the page exports it in all formats.

    The page is served to this machine alone, under an address that nobody can guess, with this audio and nothing
    else of the disk. Ctrl-C ends it.

    \b
    Examples: wordtrust view talk.json
              wordtrust view talk.json --audio talk.m4a
              wordtrust view moonshine.json whisper.json --audio talk.mp3
    """
    from ..audio.listing import SUFFIXES
    from ..service.loopback import require_server, secret, serve

    require_server()
    from ..service.view import read_review, review_path, view_application
    from ..service.viewed_audio import ViewedFile, audio_of
    from ..transcripts.reader import read_transcripts

    announce_compilation()
    if named := next((file for file in files if Path(file).suffix.lower() in SUFFIXES), None):
        stem = Path(named).stem
        raise OptionError(
            f"{named}: this is audio. Transcribe it first: wordtrust transcribe {named} --out {stem}.json, then "
            f"wordtrust view {stem}.json"
        )
    viewed = [ViewedFile(Path(file), read_transcripts(file)) for file in files]
    read_review(review_path(viewed[0].path))  # what cannot be read is told now
    sounds = audio_of(viewed[0], audio)
    names = list(dict.fromkeys(sound.path for sound in sounds.values()))
    notify(*(f"audio: {name}" for name in names[:5]))
    if not names:
        notify("no audio was found: name it with --audio FILE, or pick it on the page")
    token, review = secret(), review_path(viewed[0].path)
    can_keep = os.access(review.parent, os.W_OK)

    def announce(address: str) -> None:
        echo(address)
        kept = (
            f"changes are kept in {review}" if can_keep else f"{review} cannot be written: export changes on the page"
        )
        notify(f"{kept}; Ctrl-C ends this")

    with claimed(review) if can_keep else nullcontext():
        serve(view_application(viewed, sounds, token), token, announce, port=port, browser=not no_browser)
