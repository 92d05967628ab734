"""Make the corpus that ships with wordtrust: what three recognizers heard in synthetic speech, and what was said.

Sentences written for it (sample_text.py) are spoken by text-to-speech voices, with noise and in rooms at several
levels (sample_sound.py), and recognised by Moonshine, PocketSphinx and, where its weights are given, Whisper. The
result is laid out as `wordtrust study` reads it. Every run makes the same.

    apt-get install espeak-ng flite festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts
    pip install ".[audio,whisper,pocketsphinx]"
    python -m tools.make_sample --whisper FOLDER            # writes src/wordtrust/sample/corpus
    python -m tools.make_sample --whisper FOLDER --out some/folder

FOLDER has the weights of Whisper tiny.en for CTranslate2. The other part of the sample is made by make_lattices.py.
"""

import argparse
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from tools.sample_sound import RATE, VOICES, Place, check_voices, mixed, place_of, speak
from tools.sample_text import SENTENCES
from wordtrust.audio import Samples
from wordtrust.base.threads import available_cores
from wordtrust.formats import jsonl
from wordtrust.recognizers import RecognizerIdentity
from wordtrust.recognizers.pool import RecognitionRequest, RecognizerPool
from wordtrust.recognizers.serialization import to_lattice

DEFAULT_OUT = Path(__file__).resolve().parent.parent / "src" / "wordtrust" / "sample" / "corpus"
HEARD = ("festival-slt-12", "festival-slt-20", "flite-rms-fast-03")  # utterances whose audio is kept
SCALE = 32768
SPLITS = {"pocketsphinx": ("eval",)}  # of recognizers that do not get all: its lattices are large


@dataclass(frozen=True)
class Utterance:
    """A sentence spoken by a voice somewhere."""

    utt: str
    split: str
    voice: str
    text: str
    place: Place
    samples: Samples

    @property
    def row(self) -> str:
        """Its line of refs.tsv."""
        duration = f"{len(self.samples) / RATE:.2f}"
        return "\t".join([self.utt, self.split, self.voice, duration, str(self.place), self.text]) + "\n"


def utterances() -> list[Utterance]:
    """Every sentence of a split by every voice of it."""
    return [utterance for split in SENTENCES for utterance in _split(split)]


def _split(split: str) -> Iterable[Utterance]:
    every = 2 if split == "train" else 1  # voices for training take turns, so that there are more of them
    spoken = {
        (voice, number): speak(command, text)
        for turn, (voice, command) in enumerate(VOICES[split].items())
        for number, text in enumerate(SENTENCES[split], start=1)
        if (number + turn) % every == 0
    }
    for (voice, number), speech in spoken.items():
        utt = f"{voice}-{number:02d}"
        others = [speech for (who, what), speech in spoken.items() if who != voice and what != number]
        place = place_of(utt)
        pcm = np.rint(mixed(utt, speech, place, others) * SCALE).astype("<i2")
        samples = (pcm / SCALE).astype(np.float32)  # as a 16-bit file gives them
        yield Utterance(utt, split, voice, SENTENCES[split][number - 1], place, samples)


def recognise(spec: str, said: Sequence[Utterance], out: Path, jobs: int) -> None:
    """What a recognizer heard: a folder of its own with a file for each split."""
    with RecognizerPool(spec, jobs=jobs) as pool:
        identity = pool.identity
        lines: dict[str, list[str]] = {split: [] for split in SPLITS.get(identity.name, tuple(SENTENCES))}
        wanted = [utterance for utterance in said if utterance.split in lines]
        for utterance, answer in pool.map(wanted, lambda one: RecognitionRequest(one.samples)):
            if answer.error is not None:
                raise answer.error
            lines[utterance.split].append(named(answer.line, utterance.utt, identity))
    folder = out / identity.name
    folder.mkdir(parents=True, exist_ok=True)
    for split, records in lines.items():
        (folder / f"{split}.jsonl.gz").write_bytes(gzip.compress("".join(records).encode(), 9, mtime=0))
    about = identity.to_dict() | {"speech": "synthetic"}
    (folder / "recognizer.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def named(line: str, utt: str, identity: RecognizerIdentity) -> str:
    """What was heard, with the name of its utterance."""
    lattices = to_lattice(line, utt, identity)
    if lattices.origin.format != "nbest":
        return jsonl.lattice_line(lattices[0])
    record = {"utt": utt, **json.loads(line)}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def write_speech(said: Sequence[Utterance], out: Path, wavs: Path | None) -> None:
    """The references, the audio of a few utterances, and that of all where wanted."""
    header = "utt\tsplit\tspeaker\tduration\tplace\ttext\n"
    (out / "refs.tsv").write_text(header + "".join(utterance.row for utterance in said), "utf-8")
    (out / "audio").mkdir(exist_ok=True)
    for utterance in said:
        if utterance.utt in HEARD:
            soundfile.write(out / "audio" / f"{utterance.utt}.flac", utterance.samples, RATE, subtype="PCM_16")
        if wavs is not None:
            soundfile.write(wavs / f"{utterance.utt}.wav", utterance.samples, RATE, subtype="PCM_16")


def main() -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(description="Make the corpus that ships with wordtrust.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--whisper", metavar="FOLDER", help="weights of Whisper tiny.en for CTranslate2")
    parser.add_argument("--wavs", type=Path, help="keep the audio of all utterances here")
    parser.add_argument("--recognizers", default="moonshine,pocketsphinx", help="besides Whisper")
    parser.add_argument("--jobs", type=int, default=available_cores())
    given = parser.parse_args()
    check_voices()
    said = utterances()
    for folder in (given.out, given.wavs):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    write_speech(said, given.out, given.wavs)
    specs = [spec for spec in given.recognizers.split(",") if spec]
    specs += [f"whisper={given.whisper}"] if given.whisper else []
    for spec in specs:
        recognise(spec, said, given.out, given.jobs)


if __name__ == "__main__":
    main()
