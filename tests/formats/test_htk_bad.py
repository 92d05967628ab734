"""Bad HTK lattices: each gives one clear error with file, utterance and line, and nothing else ever escapes."""

from __future__ import annotations

import io
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import htk
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import Stream
from wordtrust.lattices.lattice import Lattices

NODES = "I=0 t=0\nI=1 t=0.5\nI=2 t=1\n"
LINKS = "J=0 S=0 E=1 W=one a=-1\nJ=1 S=1 E=2 W=two a=-2\n"


def read(data: str | bytes, max_arcs: int = 2000) -> list[Lattices]:
    raw = data.encode() if isinstance(data, str) else data
    stream = Stream(io.BytesIO(raw), "bad.slf", Path("bad.slf"))
    return list(htk.read(stream, ReadOptions(max_arcs=max_arcs), Problems()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no links"),
        ("VERSION=1.0\nN=3 L=2\n", "line 3, .*no links"),
        ("just words\n", "line 1, .*expected NAME=VALUE, found 'just'"),
        (NODES + "J=0 S=0 E=\n", "line 4, .*the end node E is '', not a whole number"),
        (NODES + "J=0 S=0 E=1.5\n", "line 4, .*the end node E is '1.5', not a whole number"),
        (NODES + "J=0 S=x E=1\n", "line 4, .*start node S is 'x'"),
        ("I=one t=0\n" + LINKS, "line 1, .*node number I is 'one'"),
        (NODES + "J=0 S=0 W=one\n", "line 4, .*without start node S or end node E"),
        (NODES + LINKS + "J=2 S=0 E=2 W=x a=-\n", "line 6, .*acoustic score a is '-', not a number"),
        (NODES + LINKS + "J=2 S=0 E=2 W=x a=nan\n", "line 6, .*acoustic score a is 'nan', not a number"),
        (NODES + LINKS + "J=2 S=0 E=2 W=x a=-1 l=-inf\n", "line 6, .*language score l is '-inf', not a number"),
        (NODES.replace("t=0.5", "t=soon") + LINKS, "line 2, .*time t is 'soon', not a number"),
        (NODES + LINKS + "J=2 S=0 E=2 W=x a=-1e999\n", "acoustic score -inf"),
        (NODES + LINKS + "J=2 S=0 E=2 W=x a=-1e300\n", "acoustic score -inf"),
        (NODES.replace("t=0.5", "t=1e999") + LINKS, "node 1 has the time inf"),
        (NODES + LINKS + "J=2 S=0 E=7 W=x a=-1\n", "line 6, .*to or from node 7, which is not there"),
        (NODES + LINKS + "J=2 S=-1 E=1 W=x a=-1\n", "line 6, .*to or from node -1"),
        ("I=8 t=0\n" + NODES + LINKS + "J=2 S=8 E=7 W=x a=-1\n", "line 7, .*node 7, which is not there"),
        (NODES + "I=1 t=0.6\n" + LINKS, "line 4, .*node 1 is there twice"),
        ("N=4 L=2\n" + NODES + LINKS, "announces 4 nodes, but there are 3"),
        ("N=3 L=1000000000000\n" + NODES + LINKS, "announces 1,000,000,000,000 links, but there are 2"),
        ("N=1000000000000 L=2\n" + NODES + LINKS, "announces 1,000,000,000,000 nodes, but there are 3"),
        ("N=many L=2\n" + NODES + LINKS, "line 1, .*N is 'many', not a whole number"),
        ("base=-2\n" + NODES + LINKS, "base is -2"),
        ("lmscale=inf\n" + NODES + LINKS, "lmscale is inf"),
        ("acscale=1_0\n" + NODES + LINKS, "acscale is '1_0', not a number"),
        ("base=0\n" + NODES + LINKS, "acoustic score nan"),
        ("base=0\nwdpenalty=0\n" + NODES + LINKS, "the scale word_penalty is nan"),
        ("tscale=1e300\n" + NODES.replace("t=1", "t=1e300") + LINKS, r"has the time 5e\+299"),
        ("lmscale=1e-320\nprscale=1e300\n" + NODES + LINKS.replace("a=", "l=0 r="), "transition score -inf"),
        (b"UTTERANCE=caf\xe9\n" + (NODES + LINKS).encode(), r"line 1, .*the name .*caf.xe9' is not in UTF-8"),
        ("start=9\n" + NODES + LINKS, "the start node 9 is not there"),
        ("end=9\n" + NODES + LINKS, "the end node 9 is not there"),
        ("start=2 end=0\n" + NODES + LINKS, "no path leads from start node 2 to end node 0"),
        (NODES + "I=3 t=0\n" + LINKS + "J=2 S=3 E=2 W=x a=-1\n", "2 nodes could be the start.*: 0, 3. Say which"),
        (NODES + "I=3 t=1\n" + LINKS + "J=2 S=0 E=3 W=x a=-1\n", "2 nodes could be the end.*: 2, 3. Say which"),
        (NODES + LINKS + "J=2 S=2 E=0 W=x a=-1\n", "no start node.*looks like a grammar"),
        ("start=0 end=2\n" + NODES + LINKS + "J=2 S=2 E=1 W=x a=-1\n", "has a cycle"),
        (NODES.replace("t=0.5", "t=1.5") + LINKS, "runs backwards in time"),
        (NODES.replace(" t=0.5", "") + LINKS, "line 2, .*node 1 has no time t, but others have"),
        (NODES + "J=0 S=0 E=1 W=one a=-1\nJ=1 S=1 E=2 W=two\n", "line 5, .*no acoustic score a, but others have"),
        (NODES + "J=0 S=0 E=1 W=one l=-1\nJ=1 S=1 E=2 W=two\n", "line 5, .*no language score l, but others have"),
        (NODES + "J=0 S=0 E=1\nJ=1 S=1 E=2\n", "neither nodes nor links have words"),
        (NODES + "J=0 S=0 E=1 W=a p=0.5\nJ=1 S=1 E=2 W=b p=1.5\n", "line 5, .*posterior p is 1.5"),
        (NODES + "J=0 S=0 E=1 W=a p=-0.5\nJ=1 S=1 E=2 W=b p=-1\n", "line 4, .*posterior p is -0.5"),
        ("base=10\n" + NODES + "J=0 S=0 E=1 W=a p=0.5\nJ=1 S=1 E=2 W=b p=-1\n", "line 6, .*posterior p is -1"),
        ("SUBLAT=digits\n" + NODES + LINKS, "line 1, .*sub-lattice 'digits' is not read.*grammars"),
        (NODES + "I=3 L=digits\n" + LINKS, "line 4, .*sub-lattice 'digits' is not read"),
        ("I~\x00\x00\x00\x01 t=0\n", "line 1, .*'I' is binary.*as text"),
        (b"I=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=caf\xe9\n", r"line 3, .*caf\\xe9' is not in UTF-8"),
        (b"I=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=caf\\351\n", "line 3, .*is not in UTF-8"),
        ((NODES + LINKS).encode("utf-16"), "line 1, .*expected NAME=VALUE"),
        (bytes(range(256)) * 20, "no links"),
    ],
)  # fmt: skip
def test_one_clear_error(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert str(caught.value).startswith("bad.slf, ")
    assert caught.value.utt
    assert caught.value.remedy


def test_the_error_names_the_utterance_of_the_header() -> None:
    with pytest.raises(InputError, match="utterance hello:"):
        read("UTTERANCE=data/hello.mfc\n" + NODES + LINKS + "J=2 S=0 E=7 W=x a=-1\n")


def test_too_many_arcs() -> None:
    text = "I=0 t=0\nI=1 t=1\n" + "".join(f"J={k} S=0 E=1 W=w\n" for k in range(50))
    with pytest.raises(InputError, match="the lattice has 50 arcs, more than 20"):
        read(text, max_arcs=20)
    with pytest.raises(InputError, match="the lattice has 30 nodes, more than 20"):
        read("".join(f"I={k}\n" for k in range(30)) + "J=0 S=0 E=1 W=w\n", max_arcs=20)
    assert len(read(text, max_arcs=50)[0].source) == 50


@pytest.mark.parametrize(
    "data",
    [
        b"I=0 t=0\n" * 200_000,
        b"x=1 " * 500_000,
        b"VERSION=1.0\n" * 100_000,
        b"#" * 2_000_000,
        b'I=0 W="' + b"\\" * 2_000_000,
        b"J=0 S=0 E=1 W='" * 200_000,
        b"I=0 t=" + b"9" * 2_000_000,
        b"I=0\nVERSION=1 " * 10_000,
    ],
)
def test_hostile_files_are_refused_quickly(data: bytes) -> None:
    read_or_refuse(b"I=0\n")  # compiles
    started = time.perf_counter()
    read_or_refuse(data)
    assert time.perf_counter() - started < 5


def read_or_refuse(data: bytes) -> None:
    """Nothing but our own error escapes, whether bad utterances are skipped or not."""
    for problems in (Problems(), Problems(skip=True)):
        with suppress(InputError):
            list(htk.read(Stream(io.BytesIO(data), "any", Path("any")), ReadOptions(max_arcs=1000), problems))
