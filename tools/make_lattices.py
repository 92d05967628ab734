"""Make the smallest part of the sample: HTK and Sphinx lattices of synthetic speech, and what was said.

Twelve sentences, written for this project, are spoken by three text-to-speech voices, mixed with a little
white noise (seeded, so every run makes the same) and recognised with PocketSphinx and the English model in
its wheel. Every lattice is written as HTK SLF, a few also in Sphinx's own format. While it runs, reference
and hypothesis of every utterance go to stderr.

Needs the Debian packages espeak-ng and flite, and from PyPI pocketsphinx (5.1.1 made the bundled files)
and numpy:

    apt-get install espeak-ng flite
    pip install pocketsphinx==5.1.1 numpy
    python tools/make_lattices.py               # writes src/wordtrust/sample/
    python tools/make_lattices.py some/folder   # or somewhere else
"""

import gzip
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pocketsphinx import Decoder

SENTENCES = (
    "i will sit there and wait for you",
    "let the soup simmer while we eat some bread",
    "the night train leaves in four hours",
    "she wrote the right address on the letter",
    "please turn off the light",
    "we'll meet you by the river after dinner",
    "he read the whole report twice last week",
    "it's hard to recognize his voice on the phone",
    "they're going to paint their kitchen blue",
    "i'll see whether the weather is better tomorrow",
    "can you buy two more pounds of flour",
    "our neighbor knows where the old key is",
)
VOICES = {  # name: the command; {text} and {wav} are filled in
    "flite-slt": ("flite", "-voice", "slt", "-t", "{text}", "-o", "{wav}"),
    "flite-rms": ("flite", "-voice", "rms", "-t", "{text}", "-o", "{wav}"),
    "espeak-us": ("espeak-ng", "-v", "en-us", "-s", "140", "-w", "{wav}", "{text}"),
}
ALSO_SPHINX = ("flite-slt-05", "flite-rms-01", "espeak-us-09")  # written as .lat too
RATE = 16000  # samples a second, what the model was trained on
SNR_DB = 35.0
BEAMS = {"fwdflatbeam": 1e-48, "fwdflatwbeam": 1e-20}  # narrower than the defaults: smaller lattices
DEFAULT_OUT = Path(__file__).resolve().parent.parent / "src" / "wordtrust" / "sample"

Samples = NDArray[np.float64]


def speak(voice: str, text: str) -> Samples:
    """Return `text` spoken by `voice`, at RATE."""
    with tempfile.TemporaryDirectory() as folder:
        wav = str(Path(folder) / "speech.wav")
        subprocess.run([part.format(text=text, wav=wav) for part in VOICES[voice]], check=True)
        with wave.open(wav) as file:
            raw = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
            return resample(raw.astype(np.float64), file.getframerate())


def resample(samples: Samples, rate: int) -> Samples:
    """Bring `samples` from `rate` down to RATE by cutting off the spectrum."""
    if rate < RATE:
        raise ValueError(f"the voice speaks at {rate} Hz; at least {RATE} are needed")
    count = round(len(samples) * RATE / rate)
    spectrum = np.fft.rfft(samples)[: count // 2 + 1]
    return np.fft.irfft(spectrum, count) * (count / len(samples))


def add_noise(samples: Samples, seed: int) -> bytes:
    """Mix in white noise SNR_DB below the speech; return 16-bit samples as bytes."""
    loud = samples * (12000 / np.abs(samples).max())
    noise = np.random.default_rng(seed).normal(0.0, loud.std() * 10 ** (-SNR_DB / 20), len(loud))
    mixed: Samples = np.rint(loud + noise)
    return mixed.clip(-32768, 32767).astype("<i2").tobytes()


def recognise(decoder: Decoder, audio: bytes) -> str:
    """Recognise one utterance; its lattice stays in the decoder."""
    decoder.reinit_feat()  # forget the noise level of the utterance before: order must not matter
    decoder.start_utt()
    decoder.process_raw(audio, full_utt=True)
    decoder.end_utt()
    hypothesis = decoder.hyp()  # also searches the lattice, which fills in its posteriors
    return hypothesis.hypstr if hypothesis else ""


def write_slf(decoder: Decoder, path: Path) -> None:
    """Write the lattice of the last utterance as gzipped HTK SLF, without a time stamp."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "lattice.slf"
        decoder.get_lattice().write_htk(str(plain))
        path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))


def write_sphinx(decoder: Decoder, path: Path) -> None:
    """Write the lattice of the last utterance in Sphinx's format, without a path of this machine."""
    decoder.get_lattice().write(str(path))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines = ["# getcwd: /\n" if line.startswith("# getcwd:") else line for line in lines]
    path.write_text("".join(lines), encoding="utf-8")


def check_words(decoder: Decoder) -> None:
    """Stop when the recognizer does not know a word of the sentences."""
    unknown = {word for text in SENTENCES for word in text.split() if not decoder.lookup_word(word)}
    if unknown:
        raise SystemExit(f"not in the recognizer's dictionary: {', '.join(sorted(unknown))}")


def make_utterance(decoder: Decoder, voice: str, index: int, lattices: Path) -> str:
    """Speak, recognise and write one sentence; return its row of ref.tsv."""
    name, text = f"{voice}-{index + 1:02d}", SENTENCES[index]
    audio = add_noise(speak(voice, text), seed=index)
    hypothesis = recognise(decoder, audio)
    print(f"{name}\n  ref: {text}\n  hyp: {hypothesis}", file=sys.stderr)
    write_slf(decoder, lattices / f"{name}.slf.gz")
    if name in ALSO_SPHINX:
        write_sphinx(decoder, lattices / f"{name}.lat")
    return f"{name}\t{voice}\t{len(audio) / 2 / RATE:.2f}\t{text}\n"


def main() -> None:
    """Write the whole sample to the folder given, or to the one that ships in the wheel."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_OUT
    (out / "lattices").mkdir(parents=True, exist_ok=True)
    decoder = Decoder(samprate=RATE, cmn="batch", loglevel="FATAL", **BEAMS)
    check_words(decoder)
    rows = [make_utterance(decoder, v, i, out / "lattices") for v in VOICES for i in range(len(SENTENCES))]
    (out / "ref.tsv").write_text("utt\tspeaker\tduration\ttext\n" + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
