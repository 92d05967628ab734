"""One writer for each target, and what a kill at any moment leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wordtrust.base import files
from wordtrust.base.errors import OptionError
from wordtrust.base.files import atomic, atomic_folder, recover, require_new
from wordtrust.base.locks import claimed, companion, locked

BUSY = "another wordtrust process is writing it"
HOLD = """
import sys
from pathlib import Path
from wordtrust.base.locks import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def hold(target: Path) -> subprocess.Popen[str]:
    """Another process that has the lock."""
    command = [sys.executable, "-c", HOLD, str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_the_second_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with hold(target) as process:
        for attempt in (locked, claimed, atomic, atomic_folder):
            with pytest.raises(OptionError, match=f"out: {BUSY}"), attempt(target):
                pass
        process.communicate("")
    with atomic(target) as file:
        file.write(b"x")
    assert list(tmp_path.iterdir()) == [target]


def test_a_killed_process_leaves_no_lock_that_holds(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with hold(target) as process:
        process.kill()
    assert companion(target, ".lock").is_file()
    for _ in range(2):
        with locked(target):
            pass
    assert list(tmp_path.iterdir()) == []


def test_work_that_claimed_a_target_writes_it_once_at_a_time(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with claimed(target):
        with pytest.raises(OptionError, match=BUSY), claimed(target):
            pass
        for _ in range(2):
            with atomic(target) as file:
                file.write(b"x")
                with pytest.raises(OptionError, match=BUSY), atomic(target):
                    pass
        with claimed(tmp_path / "other"):
            pass
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_and_what_it_leads_to_are_one_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out")
    with locked(tmp_path / "out"), pytest.raises(OptionError, match=BUSY), atomic(tmp_path / "link"):
        pass


def test_a_lock_is_no_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    companion(tmp_path / "out", ".lock").symlink_to("precious")
    with pytest.raises(OptionError, match=r"\.out\.lock: a lock would be here"), locked(tmp_path / "out"):
        pass
    assert (tmp_path / "precious").read_text() == "x"


def test_many_at_once_get_it_one_after_another(tmp_path: Path) -> None:
    """Threads stand for processes: each has a file description of its own."""
    inside, most, refused = 0, 0, 0
    count = threading.Lock()

    def work() -> None:
        nonlocal inside, most, refused
        for _ in range(100):
            try:
                with locked(tmp_path / "out"):
                    with count:
                        inside += 1
                        most = max(most, inside)
                    with count:
                        inside -= 1
            except OptionError:
                with count:
                    refused += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert list(tmp_path.iterdir()) == []


WRITE = """
import os, shutil, signal, sys
from pathlib import Path
from wordtrust.base import files

kind, folder, moment, exchanges = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True"
steps = 0

def killing(step):
    def wrapped(*arguments, **options):
        global steps
        steps += 1
        if steps == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)
    return wrapped

if not exchanges:
    files._exchange = lambda *_: False
for name in ("replace", "fsync", "unlink", "mkdir", "rmdir", "open", "close"):
    setattr(os, name, killing(getattr(os, name)))
files._exchange = killing(files._exchange)
if kind == "folder":
    with files.atomic_folder(folder / "out") as draft:
        (draft / "a").write_text("new")
        (draft / "b").write_text("new")
else:
    with files.atomic_text(folder / "out") as file:
        file.write("new")
"""


def content(target: Path) -> object:
    if target.is_dir():
        return {path.name: path.read_text() for path in sorted(target.iterdir())}
    return target.read_text() if target.exists() else None


@pytest.mark.slow
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_and_the_next_run_tidies_up(
    tmp_path: Path, kind: str, exchanges: bool
) -> None:
    old: object = {"a": "old", "c": "old"} if kind == "folder" else "old"
    new: object = {"a": "new", "b": "new"} if kind == "folder" else "new"
    seen, moment, code = set(), 0, -1
    while code:
        moment += 1
        folder = tmp_path / str(moment)
        folder.mkdir()
        out = folder / "out"
        if kind == "folder":
            out.mkdir()
            for name in ("a", "c"):
                (out / name).write_text("old")
        else:
            out.write_text("old")
        command = [sys.executable, "-c", WRITE, kind, str(folder), str(moment), str(exchanges)]
        code = subprocess.run(command, check=False).returncode
        assert code in (0, -signal.SIGKILL)
        if exchanges or kind == "file":
            assert content(out) in (old, new)  # at every moment
        with pytest.raises(OptionError, match="is there already"):
            require_new(out, overwrite=False)
        assert content(out) in (old, new)  # at the latest when somebody asks
        seen.add(str(content(out)))
        command[5] = "0"
        assert subprocess.run(command, check=False).returncode == 0
        assert content(out) == new
        assert [path.name for path in folder.iterdir()] == ["out"]
    assert seen == {str(old), str(new)}
    assert moment > 5


def test_a_folder_that_stepped_aside_comes_back(tmp_path: Path) -> None:
    aside = companion(tmp_path / "out", ".old")
    aside.mkdir()
    (aside / "a").write_text("a")
    recover(tmp_path / "out")
    assert (tmp_path / "out" / "a").read_text() == "a"
    aside.mkdir()
    recover(tmp_path / "out")  # the new one was there: the old one goes
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_drafts_of_other_targets_stay(tmp_path: Path) -> None:
    names = [".out.x.0123abcd.part", ".outer.0123abcd.part", ".out.0123abcd.part.txt", ".out.0123456789abcdef.part"]
    for name in (*names, ".out.0123abcd.part", ".out.lock"):
        (tmp_path / name).touch()
    with atomic(tmp_path / "out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "out"])


def test_where_folders_cannot_be_exchanged(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").touch()
    (tmp_path / "b").mkdir()
    if files._exchange(tmp_path / "a", tmp_path / "b"):
        assert os.listdir(tmp_path / "b") == ["x"]
    with pytest.raises(OSError, match="No such file"):
        files._exchange(tmp_path / "no", tmp_path / "b")


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes(tmp_path: Path) -> None:
    for name in (".out.0123abcd.part", ".out.lock"):
        (tmp_path / name).touch()
    with pytest.raises(ZeroDivisionError), claimed(tmp_path / "out"):  # fails before it writes anything
        raise ZeroDivisionError
    with claimed(tmp_path / "out"), atomic(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    companion(tmp_path / "out", ".lock").touch()
    with claimed(tmp_path / "out"):  # and where nothing is to be written, the lock goes with the work
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
