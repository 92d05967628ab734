"""docs/figures/page.png: the page of a recording made of the bundled clips, as headless Chromium shows it.

    python -m tools.page_picture

Needs the extra `audio`, and Chromium on the PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

ROOT = Path(__file__).parents[1]
CLIPS = ROOT / "src" / "wordtrust" / "sample" / "corpus" / "audio"
PICTURE = ROOT / "docs" / "figures" / "page.png"
SIZE = (900, 600)


def recording(path: Path) -> None:
    """All bundled clips in one file, with a pause after each."""
    parts, rate = [], 16_000
    for clip in sorted(CLIPS.glob("*.flac")):
        samples, rate = soundfile.read(clip, dtype="float32")
        parts += [samples, np.zeros(rate, np.float32)]
    soundfile.write(path, np.concatenate(parts), rate)


def main() -> None:
    """Make the recording, its page, and the picture of it."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed")
    with TemporaryDirectory() as folder:
        recording(Path(folder) / "kitchen.wav")
        transcribe = [sys.executable, "-m", "wordtrust", "transcribe", "kitchen.wav", "--out", "kitchen.html"]
        subprocess.run(transcribe, cwd=folder, check=True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        options += ["--hide-scrollbars", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={PICTURE}"]
        subprocess.run([chromium, *options, f"file://{folder}/kitchen.html"], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
