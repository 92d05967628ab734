"""Speech for the bundled corpus: text-to-speech voices, rooms made of decaying noise, and noise at several levels.

Everything is seeded by the name of the utterance, so every run makes the same samples.
"""

import shutil
import subprocess
import tempfile
import wave
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray

RATE = 16_000
Samples = NDArray[np.float64]

# The settings of a voice are its "speaker". {wav} and {text} are filled in; text2wave reads the text from a file.
_ESPEAK = ("espeak-ng", "-w", "{wav}", "-v")
_FLITE = ("flite", "-o", "{wav}", "-t", "{text}", "-voice")
_FESTIVAL = ("text2wave", "{file}", "-o", "{wav}", "-eval")
VOICES = {
    "train": {
        "espeak-gb": (*_ESPEAK, "en-gb", "-s", "130", "{text}"),
        "espeak-nyc-f3": (*_ESPEAK, "en-us-nyc+f3", "-s", "130", "{text}"),
        "festival-kal": (*_FESTIVAL, "(voice_kal_diphone)"),
        "festival-ked": (*_FESTIVAL, "(voice_ked_diphone)"),
        "flite-kal": (*_FLITE, "kal16", "--setf", "duration_stretch=1.1", "--setf", "int_f0_target_mean=120"),
    },
    "dev": {
        "espeak-rp-m3": (*_ESPEAK, "en-gb-x-rp+m3", "-s", "130", "{text}"),
        "flite-awb": (*_FLITE, "awb"),
        "flite-awb-slow": (*_FLITE, "awb", "--setf", "duration_stretch=1.2"),
    },
    "eval": {
        "espeak-us-m7": (*_ESPEAK, "en-us+m7", "-s", "130", "{text}"),
        "festival-slt": (*_FESTIVAL, "(voice_cmu_us_slt_arctic_hts)"),
        "flite-rms": (*_FLITE, "rms"),
        "flite-rms-fast": (*_FLITE, "rms", "--setf", "duration_stretch=0.85"),
        "flite-slt": (*_FLITE, "slt"),
    },
}
INSTALL = "apt-get install espeak-ng flite festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts"
_FESTVOX = ("english/kal_diphone", "english/ked_diphone", "us/cmu_us_slt_arctic_hts")

NOISES = ("white", "pink", "babble")
SNR_DB = (30.0, 24.0, 18.0, 12.0)
ROOMS = (0.0, 0.2, 0.4)  # seconds until the echo is 60 dB down; 0: none
_DIRECT = 6.0  # how much stronger the direct sound is than the whole echo, in energy
_PAUSE = 0.25  # seconds before and after the words
_LOUDEST = 0.5  # of full scale
_TALKERS = 5  # in a babble


@dataclass(frozen=True)
class Place:
    """Where an utterance is spoken."""

    noise: str
    snr: float  # dB
    echo: float  # seconds

    def __str__(self) -> str:
        return f"{self.noise}, {self.snr:g} dB, {f'echo {self.echo:g} s' if self.echo else 'no echo'}"


def check_voices() -> None:
    """Stop, and say what to install, where a voice is missing."""
    commands = {command[0] for voices in VOICES.values() for command in voices.values()}
    missing = sorted(each for each in commands if shutil.which(each) is None)
    folder = Path("/usr/share/festival/voices")
    missing += [each for each in _FESTVOX if not (folder / each).is_dir()]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}. On Debian: {INSTALL}")


def random_of(name: str) -> np.random.Generator:
    """Random numbers that belong to a name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def place_of(utt: str) -> Place:
    """Where this utterance is spoken: any mixture of noise, its level and the room."""
    random = random_of(f"{utt} place")
    return Place(str(random.choice(NOISES)), float(random.choice(SNR_DB)), float(random.choice(ROOMS)))


def speak(command: tuple[str, ...], text: str) -> Samples:
    """The text spoken by a voice, at RATE, its loudest sample 1."""
    with tempfile.TemporaryDirectory() as folder:
        wav, file = Path(folder) / "speech.wav", Path(folder) / "text"
        file.write_text(text, "utf-8")
        words = [part.format(text=text, wav=wav, file=file) for part in command]
        subprocess.run(words, check=True)
        with wave.open(str(wav)) as opened:
            raw = np.frombuffer(opened.readframes(opened.getnframes()), "<i2").astype(np.float64)
            samples = soxr.resample(raw, opened.getframerate(), RATE)
    return np.asarray(samples / np.abs(samples).max())


def mixed(utt: str, speech: Samples, place: Place, others: list[Samples]) -> Samples:
    """Speech in its place, with a pause before and after it; `others` babble where the place is full of them."""
    random = random_of(utt)
    pause = np.zeros(round(_PAUSE * RATE))
    heard = echoed(np.concatenate([pause, speech, pause]), place.echo, random)
    noise = _noise(place.noise, len(heard), others, random)
    heard = heard / level(speech) + noise / level(noise) * 10 ** (-place.snr / 20)
    return np.asarray(heard * (_LOUDEST / np.abs(heard).max()))


def level(samples: Samples) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(samples**2)))


def echoed(samples: Samples, seconds: float, random: np.random.Generator, direct: float = _DIRECT) -> Samples:
    """Heard in a room: the direct sound, and noise that dies away as its impulse response.

    `seconds` until the echo is 60 dB down; `direct`: the energy of the direct sound over that of the whole echo.
    """
    if not seconds:
        return samples
    time = np.arange(round(seconds * RATE)) / RATE
    response = random.normal(size=len(time)) * 10 ** (-3 * time / seconds)
    response *= 1 / np.sqrt(direct * np.sum(response**2))
    response[0] = 1.0
    size = len(samples) + len(response) - 1
    whole = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)
    return whole[: len(samples)]


def coloured_noise(length: int, slope: float, random: np.random.Generator, lowest: float = 0.0) -> Samples:
    """Noise whose energy falls with the frequency to the power of `slope`: 0 white, 1 pink, 2 brown.

    Nothing is left below `lowest` Hz, where brown noise would have most of its energy and no ear hears it.
    """
    noise = random.normal(size=length)
    if not slope and not lowest:
        return noise
    spectrum = np.fft.rfft(noise)
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)) ** slope)
    spectrum[: 1 + int(lowest * length / RATE)] = 0
    return np.fft.irfft(spectrum, length)


def babble(length: int, others: list[Samples], random: np.random.Generator) -> Samples:
    """Several people, each from anywhere in what they say."""
    total = np.zeros(length)
    for other in others:
        repeated = np.resize(other, length + len(other))
        start = int(random.integers(len(other)))
        total += repeated[start : start + length]
    return total


def _noise(kind: str, length: int, others: list[Samples], random: np.random.Generator) -> Samples:
    if kind == "babble":
        talkers = random.choice(len(others), _TALKERS, replace=False).tolist()
        return babble(length, [others[talker] for talker in talkers], random)
    return coloured_noise(length, 1.0 if kind == "pink" else 0.0, random)
