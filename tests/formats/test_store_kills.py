"""Stores that are written twice at once, or whose writer is killed at any step of replacing an old one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.stores import everything, simple, write_store
from wordtrust.base.errors import OptionError
from wordtrust.base.files import draft_of
from wordtrust.formats.store.write import StoreWriter

KEY = "0123456789abcdef"

# Processes that are killed at one step after another (forked, as what they import takes seconds). For each there is a
# folder `killed` as it was left, and a folder `again` in which the same was done once more.
WRITE = f"""
import os, shutil, signal, sys
from pathlib import Path
from tests.helpers.stores import simple
from wordtrust.base import files
from wordtrust.formats.store.write import StoreWriter, _are_alike

_are_alike(simple().batch())  # loads its kernel, for all processes
base, exchanges = Path(sys.argv[1]), sys.argv[2] == "True"
steps, moment = 0, 0

def killing(step):
    def wrapped(*arguments, **options):
        global steps
        steps += 1
        if steps == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)
    return wrapped

def write(folder):
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if not exchanges:
        files._exchange = lambda *_: False
    for module, name in ((os, "replace"), (os, "mkdir"), (files, "_exchange"), (shutil, "rmtree")):
        setattr(module, name, killing(getattr(module, name)))
    with StoreWriter(folder / "s", resume={KEY!r}, shard_bytes=1, group_arcs=1) as store:
        for number in range(store.resumed, 3):
            store.add(simple(f"new{{number}}").batch())
    os._exit(0)

code, last = -1, 0
while code:
    last += 1
    killed, again = base / str(last) / "killed", base / str(last) / "again"
    shutil.copytree(base / "old", killed / "s")
    moment = last
    code = write(killed)
    assert code in (0, -signal.SIGKILL), code
    shutil.copytree(killed, again)
    moment = 0
    assert write(again) == 0
"""


def test_two_writers_of_one_store(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s") as store:
        with pytest.raises(OptionError, match="another wordtrust process is writing it"), StoreWriter(tmp_path / "s"):
            pass
        store.add(simple("mine").batch())
    assert [lattice.utt for lattice in everything(tmp_path / "s")] == ["mine"]
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def names(path: Path) -> list[str]:
    return [lattice.utt for lattice in everything(path)]


@pytest.mark.slow
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_at_any_step_of_replacing_a_store(tmp_path: Path, exchanges: bool) -> None:
    """The old store or the new one is there, and the same command gives the new one and leaves nothing else."""
    write_store(tmp_path / "old", simple("old"))
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path), str(exchanges)], check=True)
    new, moments = ["new0", "new1", "new2"], [path for path in tmp_path.iterdir() if path.name != "old"]
    assert len(moments) > 5
    for moment in moments:
        if exchanges:
            assert names(moment / "killed" / "s") in (["old"], new)
        assert names(moment / "again" / "s") == new
        assert len(list((moment / "again" / "s").glob("*.parquet"))) == 6
        assert [path.name for path in (moment / "again").iterdir()] == ["s"]


@pytest.mark.parametrize("trap", ["a link", "links inside"])
def test_a_draft_is_no_trap(tmp_path: Path, trap: str) -> None:
    """Whoever knows the name of a draft cannot have us write where they like."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    draft = draft_of(tmp_path / "s", KEY)
    if trap == "a link":
        draft.symlink_to("precious")
    else:
        draft.mkdir()
        (draft / "arcs-00000.parquet").symlink_to("../precious/file")
        (draft / "store.json").symlink_to("../precious/file")
    with StoreWriter(tmp_path / "s", resume=KEY) as store:
        store.add(simple("u").batch())
    assert names(tmp_path / "s") == ["u"]
    assert (tmp_path / "precious" / "file").read_text() == "mine"
    assert os.listdir(tmp_path / "precious") == ["file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "s"]


def test_a_draft_whose_shards_are_damaged_is_begun_anew(tmp_path: Path) -> None:
    def interrupted() -> None:
        with StoreWriter(tmp_path / "s", resume=KEY, shard_bytes=1, group_arcs=1) as store:
            for number in range(3):
                store.add(simple(f"u{number}").batch())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    shard = draft_of(tmp_path / "s", KEY) / "arcs-00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-1])
    with StoreWriter(tmp_path / "s", resume=KEY) as store:
        assert store.resumed == 0
        store.add(simple("again").batch())
    assert names(tmp_path / "s") == ["again"]
