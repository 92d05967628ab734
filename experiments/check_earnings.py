"""Other people's systems check each other on the calls of Earnings-21, without audio: nothing was fitted on these.

    python -m experiments.check_earnings EARNINGS21

Each system's words of a stretch of a call are its transcript; the others listen, as transcripts without scores. The
shipped model judges. Votes, the share of systems that have the word, are calibrated on the other half of the calls.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tools.check_data import CheckedTranscript, checked

import wordtrust as wt
from experiments.check import measures, votes
from experiments.earnings_calls import SYSTEMS, call_stretches
from wordtrust.combination.check import CheckModel, Listener
from wordtrust.confidence.calibration import make
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.weights import Reals


def transcripts(folder: Path, most: int) -> list[CheckedTranscript]:
    """What each system heard, with the others as listeners."""
    lists, spoken, calls = call_stretches(folder, most)
    chains = {system: _chains(lists, index) for index, system in enumerate(SYSTEMS)}
    references = [" ".join(words) for words in spoken]
    return [
        checked(system, chain, references, calls, [Listener(n, c) for n, c in chains.items() if n != system], {})
        for system, chain in chains.items()
    ]


def _chains(lists: Mapping[str, Sequence[object]], index: int) -> Lattices:
    chains = wt.from_nbest({utt: [nbest[index]] for utt, nbest in lists.items()})
    return replace(chains, acoustic=None, transition=None, posterior=None, extra={}, notes={})


def calibrated_votes(transcript: CheckedTranscript, listeners: Sequence[str]) -> Reals:
    """[words] votes as probabilities, those of each half of the calls by the other half."""
    share = votes(transcript, listeners)
    half = np.repeat([sorted(set(transcript.speaker)).index(call) % 2 for call in transcript.speaker],
                     np.diff(transcript.facts.offsets))  # fmt: skip
    said = np.zeros(len(share))
    for own in (0, 1):
        other = make("histogram").fit(share[half != own], transcript.right[half != own])
        said[half == own] = other.predict(share[half == own])
    return said


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.check_earnings", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", type=Path, help="the unpacked archive")
    parser.add_argument("--most", type=int, default=1000, help="stretches of calls")
    given = parser.parse_args(arguments)
    model = CheckModel.load()
    print("| transcript of | wrong | listeners | NCE: check | votes | AUC: check | votes | ECE: check |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for one in transcripts(given.folder, given.most):
        for listeners in (*((name,) for name in one.heard), tuple(one.heard)):
            ours = measures(model.confidence(one.gathered(listeners), by_recognizer=True), one.right)
            theirs = measures(calibrated_votes(one, listeners), one.right)
            shown = listeners[0] if len(listeners) == 1 else "all"
            print(
                f"| {one.whose} | {(~one.right).mean():.1%} | {shown} | {ours['nce']:.3f} | {theirs['nce']:.3f} | "
                f"{ours['auc']:.3f} | {theirs['auc']:.3f} | {ours['ece']:.3f} |"
            )


if __name__ == "__main__":
    main()
