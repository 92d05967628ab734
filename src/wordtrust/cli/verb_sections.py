"""`wordtrust --help`: the verbs in sections, each with its purpose; and what is said about a verb that is none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Transcripts (you have audio, or what a recognizer wrote)": {
        "demo": "See all of it on bundled samples.",
        "transcribe": "Audio to words with confidences.",
        "check": "Which words of a transcript from somewhere are wrong?",
        "view": "Listen to a transcript and correct it, in the browser.",
        "score": "The same from lattices, N-best lists or 1-best output.",
        "estimate": "How many errors transcripts have, without references.",
        "plan": "What to listen to until few enough errors are left.",
        "recognizers": "Which recognizers are ready, and how to get the others.",
        "models": "Models that come with wordtrust.",
    },
    "Calibration (confidences that hold for your recognizer)": {
        "calibrate": "Make confidences mean what they say.",
        "threshold": "From which confidence on words need no review.",
        "adapt": "A model for another recognizer, without references.",
        "combine": "Several recognizers together.",
        "recognize": "A corpus of audio to a store of lattices.",
        "build": "Lattices to labelled word networks.",
        "train": "A confidence model from networks (needs torch).",
    },
    "Research (look inside, measure, convert)": {
        "info": "Counts, density, error rates of lattices.",
        "convert": "Lattices to other formats, or to a picture.",
        "tune": "Scales and word penalty, on a development set.",
        "evaluate": "Error rates, EER, NCE, AUC, ECE with intervals.",
        "study": "Every table of the paper for a folder of recognizers.",
        "formats": "What can be read and written.",
    },
}


class SectionedGroup(click.Group):
    """A group of verbs whose help has them in the sections above."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The verbs in the order of the sections, and those of no section after them."""
        ordered = [name for verbs in SECTIONS.values() for name in verbs]
        return [name for name in ordered if name in self.commands] + sorted(set(self.commands) - set(ordered))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a list of verbs for each section."""
        width = max(len(name) for name in self.commands)
        for heading, verbs in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), purpose) for name, purpose in verbs.items()])
        formatter.write_paragraph()
        formatter.write_text("Every verb has --help with examples: wordtrust score --help")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb; a file in its place gets the verb that it may have been meant for."""
        if self.get_command(ctx, args[0]) is None and Path(args[0]).exists():
            raise click.UsageError(
                f"{args[0]!r} is no verb. To transcribe audio: wordtrust transcribe {args[0]}; to see what is in "
                f"lattices or other recognizer output: wordtrust info {args[0]}",
                ctx,
            )
        return super().resolve_command(ctx, args)
