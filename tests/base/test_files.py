"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from wordtrust.base import files
from wordtrust.base.errors import OptionError
from wordtrust.base.files import atomic, atomic_folder, atomic_text, is_stream, require_new, require_parent


def test_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with atomic(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_text(path) as file:
        file.write(f"half {1 / 0}")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_packed_files_depend_on_nothing_but_their_content(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_text(tmp_path / name) as file:
            file.write("naïve\n")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == "naïve\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_half_characters(tmp_path: Path) -> None:
    with atomic_text(tmp_path / "a") as file:
        file.write("a\ud800b\r\n")
    assert (tmp_path / "a").read_bytes() == b"a?b\r\n"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written: No such file"), atomic(tmp_path / "no" / "out"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(OptionError, match="cannot be written: Is a directory"), atomic(tmp_path / "folder"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_replaces_the_old_one_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "model"
    for name in ("old", "new"):
        with atomic_folder(folder) as draft:
            (draft / name).write_text(name)
            assert name == "old" or (folder / "old").exists()
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("moment", ["while it is written", "when the old one stepped aside"])
def test_a_folder_stays_as_it_was_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folder, real = tmp_path / "model", os.replace
    folder.mkdir()
    (folder / "old").write_text("old")

    def fail(source: Path, target: Path) -> None:
        if target == folder and not source.name.endswith(".old"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(files, "_exchange", lambda *_: False)  # a file system that cannot exchange folders
    with pytest.raises((OptionError, ZeroDivisionError)) as error, atomic_folder(folder) as draft:
        (draft / "new").write_text(f"{1 / (moment != 'while it is written')}")
    assert (
        error.type is ZeroDivisionError or str(error.value) == f"{folder}: cannot be written: No space left on device"
    )
    assert [path.name for path in folder.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [folder]


def _noting(events: list[str], name: str, function: Callable[..., None]) -> Callable[..., None]:
    def noted(*arguments: object) -> None:
        events.append(name)
        function(*arguments)

    return noted


def test_content_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, _noting(events, name, getattr(os, name)))
    with atomic(tmp_path / "file") as file:
        file.write(b"x")
    with atomic_folder(tmp_path / "folder") as draft:
        (draft / "a").write_bytes(b"a")
        (draft / "b").write_bytes(b"b")
    assert events == ["fsync", "replace", "fsync", "fsync", "replace"]


def test_a_link_stays_and_leads_to_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("there", "dangling"):
        (tmp_path / name).symlink_to(tmp_path / "folder" / f"{name}.txt")
    (tmp_path / "folder" / "there.txt").write_text("old")
    for name in ("there", "dangling"):
        with atomic_text(tmp_path / name) as file:
            file.write("new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "folder" / f"{name}.txt").read_text() == "new"
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["dangling.txt", "there.txt"]
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(OptionError, match="Too many levels of symbolic links"), atomic(tmp_path / "circle"):
        pass


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make another user's link")
def test_a_strangers_link_in_a_shared_folder_is_not_followed(tmp_path: Path) -> None:
    shared, precious = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "out").symlink_to(precious)
    os.chown(shared / "out", 12345, 12345, follow_symlinks=False)
    with pytest.raises(OptionError, match="another user's link"), atomic(shared / "out"):
        pass
    assert not precious.exists()


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        for _ in range(2):
            with atomic(tmp_path / "file"), atomic_folder(tmp_path / "folder"):
                pass
            assert stat.S_IMODE((tmp_path / "file").stat().st_mode) in (0o640, 0o600)
            assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) in (0o750, 0o700)
            (tmp_path / "file").chmod(0o600)
            (tmp_path / "folder").chmod(0o700)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_devices_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    with atomic_text(null) as file:
        file.write("gone")
    assert null.is_char_device()
    os.mkfifo(tmp_path / "pipe")
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()))
    listener.start()
    with atomic_text(tmp_path / "pipe") as file:
        file.write("said")
    listener.join()
    assert heard == ["said"]
    assert is_stream(tmp_path / "pipe")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["null", "pipe"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_goes_on_where_it_stands(tmp_path: Path, name: str) -> None:
    script = f"""
from pathlib import Path
from wordtrust.base.files import atomic_text
print("before")
with atomic_text(Path({name!r})) as file: file.write("middle\\n")
print("after")
"""
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", script], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nmiddle\nafter\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_device_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(OptionError, match="/dev/full: cannot be written: No space left"),
        atomic_text(Path("/dev/full")) as file,
    ):
        file.write("x" * 100_000)
    assert Path("/dev/full").is_char_device()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_gets_full_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    script = f"""
import resource, signal
from pathlib import Path
from wordtrust.base.files import atomic_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with atomic_text(Path({str(tmp_path / "old")!r})) as file: file.write("x" * 100_000)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "old: cannot be written: File too large" in ended.stderr.splitlines()[-1]
    assert (tmp_path / "old").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for check in (atomic, atomic_folder):
        with pytest.raises(OptionError, match="NUL"), check(tmp_path / "a\0b"):
            pass
        with pytest.raises(OptionError, match="cannot be written: File name too long"), check(tmp_path / ("x" * 256)):
            pass
    with pytest.raises(OptionError, match="NUL"):
        require_parent(tmp_path / "a\0b")
    with pytest.raises(OptionError, match="File name too long"):
        require_parent(tmp_path / ("x" * 300) / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "x" * 240])
def test_a_name_as_long_as_it_can_be(tmp_path: Path, name: str) -> None:
    for kind in ("file", "folder"):
        folder = tmp_path / kind
        folder.mkdir()
        for _ in range(2):
            if kind == "file":
                with atomic(folder / name) as file:
                    file.write(b"x")
            else:
                with atomic_folder(folder / name) as draft:
                    (draft / "a").write_text("a")
        assert [path.name for path in folder.iterdir()] == [name]


def test_what_is_there_is_not_replaced_unless_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("x")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "to full").symlink_to("full")
    (tmp_path / "to nothing").symlink_to("nothing")
    for name in ("empty", "folder", "to nothing", "new", "/dev/null", "/dev/stdout"):
        require_new(tmp_path / name, overwrite=False)
    (tmp_path / "folder" / "a").touch()
    for name in ("full", "to full", "folder"):
        with pytest.raises(OptionError, match=r"is there already; .* --overwrite"):
            require_new(tmp_path / name, overwrite=False)
        require_new(tmp_path / name, overwrite=True)
