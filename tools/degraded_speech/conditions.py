"""What happens to speech on its way to a recognizer: a function for each condition, its strength drawn at random.

Signal-to-noise ratios are those of the active speech (frames within 30 dB of the loud ones), not of the whole clip
with its pauses. Nothing is clipped unless the condition says so: what would leave the range is turned down.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import soundfile
import soxr

from tools.sample_sound import RATE, Samples, babble, coloured_noise, echoed, level

Others = Callable[[int], list[Samples]]  # what so many other speakers of the same split say
LOUDEST = 0.99  # of full scale: what is louder is turned down
_FRAME = RATE // 50
_ACTIVE = 10 ** (-30 / 20)  # frames this far below the loud ones are pauses


@dataclass(frozen=True)
class Scene:
    """What a condition draws from: random numbers of its own, and other people."""

    random: np.random.Generator
    others: Others

    def between(self, low: float, high: float) -> float:
        """Any number of this range."""
        return float(self.random.uniform(low, high))

    def one_of(self, *choices: str) -> str:
        """Any of these."""
        return choices[int(self.random.integers(len(choices)))]


Condition = Callable[[Samples, Scene], tuple[Samples, str]]  # what is heard then, and how strong it was


def speech_frames(samples: Samples) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which frames of 20 ms have speech in them, by their energy."""
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    levels = np.sqrt(np.mean(frames**2, axis=1))
    return np.asarray(levels >= np.quantile(levels, 0.95) * _ACTIVE)


def speech_level(samples: Samples) -> float:
    """The level of the frames with speech."""
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    return level(frames[speech_frames(samples)])


def with_noise(speech: Samples, noise: Samples, snr: float) -> Samples:
    """Speech and noise at this ratio, in dB."""
    loudness = level(noise)
    return speech + noise * (speech_level(speech) * 10 ** (-snr / 20) / loudness) if loudness else speech


def within_range(samples: Samples) -> Samples:
    """Turned down where it would not fit into a file."""
    peak = float(np.abs(samples).max(initial=0.0))
    return samples * (LOUDEST / peak) if peak > LOUDEST else samples


def noise(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Noise of several colours, gusts of it, and mains hum, at 0 to 20 dB."""
    kind, snr = scene.one_of("white", "pink", "brown", "blue", "gusts", "hum"), scene.between(0, 20)
    slopes = {"white": 0.0, "pink": 1.0, "brown": 2.0, "blue": -1.0, "gusts": 1.0}
    sound = _hum(len(speech), scene) if kind == "hum" else coloured_noise(len(speech), slopes[kind], scene.random, 60)
    if kind == "gusts":
        sound = sound * _gusts(len(speech), scene)
    return with_noise(speech, sound, snr), f"{kind} noise at {snr:.1f} dB"


def _hum(length: int, scene: Scene) -> Samples:
    """50 or 60 Hz and what lies above it, and a little noise."""
    hertz, time = float(scene.one_of("50", "60")), np.arange(length) / RATE
    total = 0.1 * scene.random.normal(size=length)
    for harmonic in range(1, 25):
        strength, phase = scene.between(0.2, 1) / np.sqrt(harmonic), scene.between(0, 2 * np.pi)
        total += strength * np.sin(2 * np.pi * hertz * harmonic * time + phase)
    return total


def _gusts(length: int, scene: Scene) -> Samples:
    """A level that goes up and down by about 8 dB, three times a second."""
    knots = scene.random.normal(size=length * 3 // RATE + 3)
    return np.asarray(10 ** (8 / 20 * np.interp(np.arange(length) * 3 / RATE, np.arange(len(knots)), knots)))


def crowd(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Babble of three to seven other speakers of the same split, at 0 to 20 dB."""
    talkers, snr = int(scene.random.integers(3, 8)), scene.between(0, 20)
    others = [other / max(speech_level(other), 1e-6) for other in scene.others(talkers)]
    return with_noise(speech, babble(len(speech), others, scene.random), snr), f"{talkers} talkers at {snr:.1f} dB"


def second_talker(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Another speaker of the same split, 5 to 20 dB below, from anywhere in the clip on; not in the reference."""
    ratio, start = scene.between(5, 20), int(scene.between(0, 0.7) * len(speech))
    (other,) = scene.others(1)
    other = other[: len(speech) - start]
    other = other * (speech_level(speech) * 10 ** (-ratio / 20) / max(speech_level(other), 1e-6))
    heard = speech.copy()
    heard[start : start + len(other)] += other
    return heard, f"a second talker from {start / RATE:.1f} s on, {ratio:.1f} dB below"


def room(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """An echo of 0.2 to 1 s, the direct sound as strong as all of it or up to 8 dB above."""
    seconds, ratio = scene.between(0.2, 1.0), scene.between(0, 8)
    heard = echoed(speech, seconds, scene.random, 10 ** (ratio / 10))
    return heard, f"echo {seconds:.2f} s, direct sound {ratio:+.1f} dB"


def distance(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Across a room: more echo than direct sound, quiet, little treble, some noise."""
    seconds, ratio = scene.between(0.3, 0.9), scene.between(-8, 0)
    quiet, treble, snr = scene.between(10, 25), scene.between(2000, 6000), scene.between(10, 25)
    heard = filtered(
        echoed(speech, seconds, scene.random, 10 ** (ratio / 10)), lambda hertz: 1 / (1 + hertz / treble)
    )
    heard = with_noise(heard, coloured_noise(len(heard), 1.0, scene.random, 60), snr)
    return heard * 10 ** (-quiet / 20), f"echo {seconds:.2f} s, direct sound {ratio:+.1f} dB, noise at {snr:.1f} dB"


def telephone(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """300 to 3400 Hz at 8 kHz, mu-law or A-law."""
    law = scene.one_of("ULAW", "ALAW")
    heard = filtered(speech, lambda hertz: ((hertz > 300) & (hertz < 3400)).astype(np.float64))
    return coded(heard, 8000, "WAV", law), "mu-law" if law == "ULAW" else "A-law"


def codec(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """GSM, ADPCM, and Opus and MP3 at their lowest rates."""
    kind = scene.one_of("GSM", "ADPCM", "Opus", "MP3")
    if kind in ("GSM", "ADPCM"):
        file = ("WAV", "GSM610") if kind == "GSM" else ("AU", "G721_32")
        return coded(speech, 8000, *file), kind
    lowest = scene.between(0.97, 1.0)  # libsndfile: 1 is 6 kbit/s for Opus, 8 for MP3
    if kind == "Opus":
        heard = coded(speech, RATE, "OGG", "OPUS", compression_level=lowest)
    else:
        heard = coded(speech, RATE, "MP3", "MPEG_LAYER_III", compression_level=lowest, bitrate_mode="CONSTANT")
    return heard, f"{kind}, compression {lowest:.3f}"


def clipping(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """0.5 to 10% of the samples of the speech beyond what the microphone can take."""
    share = scene.between(0.005, 0.1)
    frames = speech[: len(speech) // _FRAME * _FRAME].reshape(-1, _FRAME)
    most = max(float(np.quantile(np.abs(frames[speech_frames(speech)]), 1 - share)), 1e-6)
    return np.clip(speech / most, -1, 1) * LOUDEST, f"{share:.1%} clipped"


def loudness(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Very quiet (35 to 60 dB below full scale), or so loud that the amplifier saturates."""
    scaled = speech / max(float(np.abs(speech).max()), 1e-6)
    if scene.one_of("quiet", "loud") == "quiet":
        down = scene.between(35, 60)
        return scaled * 10 ** (-down / 20), f"peak {-down:.1f} dB"
    drive = scene.between(6, 20)
    return np.tanh(scaled * 10 ** (drive / 20)) * LOUDEST, f"overdriven by {drive:.1f} dB"


def speed(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Slower or faster: 0.8 to 1.25 with the pitch, or 0.7 to 1.45 without it."""
    if scene.one_of("speed", "tempo") == "speed":
        factor = float(np.exp(scene.between(np.log(0.8), np.log(1.25))))
        return np.asarray(soxr.resample(speech, RATE, RATE / factor)), f"speed {factor:.2f}"
    factor = float(np.exp(scene.between(np.log(0.7), np.log(1.45))))
    return with_tempo(speech, factor), f"tempo {factor:.2f}"


def cut_off(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Without its beginning, its end or both: the pause and 50 to 250 ms of the speech.

    The reference stays: a word that was cut was said. Whether it can still be heard is for the recognizer to say.
    """
    active = np.flatnonzero(speech_frames(speech)) * _FRAME
    first, last, where = int(active[0]), int(active[-1]) + _FRAME, scene.one_of("beginning", "end", "both")
    lost = [scene.between(0.05, 0.25), scene.between(0.05, 0.25)]
    start = first + round(lost[0] * RATE) if where != "end" else 0
    end = last - round(lost[1] * RATE) if where != "beginning" else len(speech)
    if end - start < RATE // 4:  # nothing would be left of it
        return speech, "too short to be cut"
    said = {"beginning": lost[:1], "end": lost[1:], "both": lost}[where]
    return speech[start:end], f"{where} cut by {' and '.join(f'{seconds:.2f}' for seconds in said)} s"


def dropouts(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Packets of 20 ms lost, 3 to 20% of them, two in a row on average: silence there, or the packet before again."""
    share, repeats = scene.between(0.03, 0.2), scene.one_of("silent", "repeated") == "repeated"
    begins, ends = share / (2 * (1 - share)), 0.5
    heard, is_lost, packets = speech.copy(), False, scene.random.random(len(speech) // _FRAME)
    for packet, drawn in enumerate(packets.tolist()):
        is_lost = drawn >= ends if is_lost else drawn < begins
        if is_lost:
            at = slice(packet * _FRAME, (packet + 1) * _FRAME)
            heard[at] = 0.7 * heard[at.start - _FRAME : at.start] if repeats and packet else 0.0
    return heard, f"{share:.0%} of the packets lost, {'repeated' if repeats else 'silent'}"


def band_stop(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """A band of 1 to 1.6 octaves between 300 and 4000 Hz taken out."""
    middle, octaves = float(np.exp(scene.between(np.log(500), np.log(2500)))), scene.between(1.0, 1.6)
    low, high = middle * 2 ** (-octaves / 2), middle * 2 ** (octaves / 2)
    return filtered(
        speech, lambda hertz: ((hertz < low) | (hertz > high)).astype(np.float64)
    ), f"no {low:.0f} to {high:.0f} Hz"


def combined(speech: Samples, scene: Scene) -> tuple[Samples, str]:
    """Two of the others, of different kinds, in the order in which they happen."""
    details = []
    for kind in sorted(scene.random.choice(len(_KINDS), 2, replace=False).tolist()):
        speech, detail = CONDITIONS[scene.one_of(*_KINDS[kind])](speech, scene)
        speech = within_range(speech)
        details.append(detail)
    return speech, ", then ".join(details)


CONDITIONS: dict[str, Condition] = {
    "noise": noise, "babble": crowd, "talker": second_talker, "room": room, "distance": distance,
    "telephone": telephone, "codec": codec, "clipping": clipping, "level": loudness, "speed": speed, "cut": cut_off,
    "combined": combined, "dropouts": dropouts, "bandstop": band_stop,
}  # fmt: skip
HELD_OUT = ("dropouts", "bandstop")  # never in training: what a model makes of damage that it has not met
WITH_OTHERS = ("babble", "talker", "combined")  # conditions that other speakers take part in
_KINDS = (
    ("speed", "cut"),
    ("noise", "babble", "talker", "room", "distance"),
    ("clipping", "level"),
    ("telephone", "codec"),
)


def filtered(samples: Samples, response: Callable[[Samples], Samples]) -> Samples:
    """Every frequency (Hz) multiplied by its response."""
    spectrum = np.fft.rfft(samples)
    hertz = np.asarray(np.fft.rfftfreq(len(samples), 1 / RATE), np.float64)
    return np.fft.irfft(spectrum * response(hertz), len(samples))


def coded(samples: Samples, rate: int, container: str, subtype: str, **options: float | str) -> Samples:
    """Written to a file with this codec, and read again."""
    file, inside = io.BytesIO(), within_range(soxr.resample(within_range(samples), RATE, rate))
    soundfile.write(file, inside, rate, format=container, subtype=subtype, **options)
    file.seek(0)
    heard = soxr.resample(soundfile.read(file)[0], rate, RATE)[: len(samples)]
    return np.pad(heard, (0, len(samples) - len(heard)))


def with_tempo(samples: Samples, factor: float) -> Samples:
    """Faster by this factor at the same pitch: overlapping frames, each where it goes on best (WSOLA)."""
    frame, reach = RATE * 3 // 100, RATE // 100
    hop, window = frame // 2, np.hanning(frame + 1)[:-1]
    padded = np.pad(samples, (reach, frame + hop + reach))
    total = np.zeros(int(len(samples) / factor) + frame)
    expected = padded[reach : reach + frame]
    for start in range(0, len(total) - frame + 1, hop):
        middle = min(round(start * factor), len(samples))
        near = padded[middle : middle + frame + 2 * reach]
        best = middle + int(np.argmax(np.correlate(near, expected, "valid")))
        total[start : start + frame] += window * padded[best : best + frame]
        expected = padded[best + hop : best + hop + frame]
    return total[: int(len(samples) / factor)]
