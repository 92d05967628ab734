"""Build wheel and sdist and check them as users will meet them: `make dist`.

    python tools/check_dist.py              # needs build and twine, which `make setup` installs

- both are built, the wheel from the sdist, and pass `twine check --strict`;
- the wheel has the package with its data and nothing else, the sdist what it takes to build, test and document it;
- the wheel, installed into a fresh environment without extras, scores the bundled sample. There is no torch there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
NAME = "wordtrust"
IN_WHEEL = ("py.typed", "base/version.py", "sample/ref.tsv", "sample/corpus/moonshine-tiny/eval.jsonl.gz",
            "confidence/shipped/data/generic/", "confidence/shipped/data/joint/",
            "confidence/shipped/data/check/check.safetensors")  # fmt: skip
IN_SDIST = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "constraints.txt", "src/wordtrust/",
            "tests/conftest.py", "docs/api.md", "tools/check_dist.py", "benchmarks/", "experiments/")  # fmt: skip
# By nobody's intention: caches, environments, results.
UNWANTED = re.compile(
    r"(^|/)(\.(?!gitignore$|github/)[^/]*|__pycache__|build|dist|demo-output|.*\.(pyc|nbc|nbi|orig|rej))(/|$)"
)
SMOKE = """
import sys, wordtrust
from importlib.util import find_spec
assert not find_spec("torch"), "torch is installed"
assert "numba" not in sys.modules, "importing is not light"
print(wordtrust.__file__)
"""


def main() -> None:
    """Build, check, install and try."""
    options = argparse.ArgumentParser(description="Build wheel and sdist and check them.")
    options.add_argument("--out", type=Path, default=ROOT / "dist", help="folder (default: %(default)s)")
    out: Path = options.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{NAME}-*"):
        old.unlink()
    _run(sys.executable, "-m", "build", "--outdir", out, ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    check_wheel(wheel)
    check_sdist(sdist)
    with TemporaryDirectory(prefix="wordtrust-dist-") as folder:
        _try(wheel, Path(folder))
    sizes = [f"{file.name} ({file.stat().st_size / 1e6:.1f} MB)" for file in (wheel, sdist)]
    print(f"{' and '.join(sizes)}: well")


def check_wheel(wheel: Path) -> None:
    """The package with its data, its licence and its metadata, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.partition("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(f"{info}/METADATA").decode()
    _refuse(names)
    strange = [name for name in names if not name.startswith((f"{NAME}/", f"{info}/"))]
    _require(not strange, f"{wheel.name} has files beside the package: {strange[:3]}")
    _require_all((f"{NAME}/{part}" for part in IN_WHEEL), names, wheel.name)
    _require_all((f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"), names, wheel.name)
    for field in ("Name", "Version", "Summary", "License-Expression", "License-File", "Requires-Python",
                  "Description-Content-Type", "Classifier", "Keywords", "Author"):  # fmt: skip
        _require(re.search(f"^{field}: .", metadata, re.MULTILINE), f"{wheel.name}: the metadata have no {field}")
    plain = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    _require(not any("torch" in line for line in plain), f"{wheel.name} needs torch: {plain}")


def check_sdist(sdist: Path) -> None:
    """What it takes to build, test and document the package, and nothing else."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    _refuse(names)
    _require_all(IN_SDIST, names, sdist.name)


def _refuse(names: Iterable[str]) -> None:
    unwanted = [name for name in names if UNWANTED.search(name)]
    _require(not unwanted, f"nobody wants {unwanted[:3]} in there")


def _require_all(parts: Iterable[str], names: Iterable[str], where: str) -> None:
    listed = list(names)
    for part in parts:
        _require(any(name == part or name.startswith(part) for name in listed), f"{where} lacks {part}")


def _try(wheel: Path, folder: Path) -> None:
    """Install without extras, then do what a new user does first."""
    environment = folder / "venv"
    venv.create(environment, with_pip=True)
    python, command = environment / "bin" / "python", environment / "bin" / NAME
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    size = sum(file.lstat().st_size for file in environment.rglob("*") if file.is_file())
    package = Path(_run(python, "-c", SMOKE, cwd=folder).strip()).parent
    print(_run(command, "--version", cwd=folder).strip(), f"in an environment of {size / 1e6:.0f} MB")
    words, nbest = folder / "words.jsonl", package / "sample" / "corpus" / "moonshine-tiny" / "eval.jsonl.gz"
    _run(command, "score", "moonshine-tiny", nbest, "--out", words, cwd=folder)
    scored = [json.loads(line) for line in words.read_text("utf-8").splitlines()]
    _require(len(scored) == 100, f"{len(scored)} utterances were scored, not 100")
    sound = package / "sample" / "corpus" / "audio" / "festival-slt-20.flac"
    missing = subprocess.run([command, "transcribe", sound], capture_output=True, text=True, check=False, cwd=folder)
    said = missing.stderr.strip()
    _require(missing.returncode == 1 and "[audio]" in said and "pip install" in said, f"without extras: {said}")


def _run(*words: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, check=False, cwd=cwd)
    _require(done.returncode == 0, f"{' '.join(map(str, words[:6]))} failed:\n{done.stdout}")
    return done.stdout


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        sys.exit(otherwise)


if __name__ == "__main__":
    main()
