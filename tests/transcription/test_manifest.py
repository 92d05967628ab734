"""Manifests: tables, JSON lines, wav.scp, folders; nothing is run, nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.transcription.manifest import ManifestEntry, read_manifest


def entries(path: Path, text: str, audio: Path | None = None) -> list[ManifestEntry]:
    path.write_text(text, "utf-8")
    return read_manifest(path, audio)


def test_a_table(tmp_path: Path) -> None:
    found = entries(
        tmp_path / "m.tsv",
        "\ufeffUtt\taudio\tstart\tend\tchannel\tsplit\ttext\nu1\tclips/a.wav\t1.5\t3\t2\ttrain\tHello.\n\n"
        'u2\t/far/b.mp3\t\t\t\tdev\tIt\'s "so".\n',
    )
    assert found == [
        ManifestEntry("u1", tmp_path / "clips/a.wav", "line 2", 1.5, 3.0, 2, "train"),
        ManifestEntry("u2", Path("/far/b.mp3"), "line 4", split="dev"),
    ]


def test_json_lines_as_nemo_writes_them(tmp_path: Path) -> None:
    found = entries(
        tmp_path / "m.json",
        '{"audio_filepath": "a.wav", "offset": 2, "duration": 1.25, "text": "x"}\n'
        '{"audio_filepath": "b.wav", "duration": 7.5, "id": 12}\n',
    )
    assert [(entry.utt, entry.start, entry.end) for entry in found] == [("a-2.00", 2.0, 3.25), ("12", None, None)]


def lhotse(**changed: object) -> str:
    source = {"type": "file", "channels": [0, 1], "source": "calls/a.wav"} | dict(changed.pop("source", {}))  # type: ignore[call-overload]
    recording = {"id": "r", "sources": [source], "sampling_rate": 8000, "num_samples": 80000, "duration": 10.0}
    cut = {"id": "r-1", "start": 2.0, "duration": 1.25, "channel": 1, "supervisions": [], "recording": recording}
    return json.dumps(cut | changed) + "\n"


def test_json_lines_as_lhotse_writes_them(tmp_path: Path) -> None:
    """Cuts, whose channels count from 0, and recordings; nothing is run or fetched."""
    (cut,) = entries(tmp_path / "cuts.jsonl", lhotse())
    assert cut == ManifestEntry("r-1", tmp_path / "calls/a.wav", "line 1", 2.0, 3.25, 2)
    (mono,) = entries(tmp_path / "cuts.jsonl", lhotse(source={"channels": [0]}, channel=0))
    assert mono.channel is None
    recording = json.dumps(json.loads(lhotse())["recording"])
    assert entries(tmp_path / "recordings.jsonl", recording)[0].start is None
    supervision = json.dumps({"id": "s", "recording_id": "r", "start": 0.0, "duration": 2.0, "text": "x"})
    with pytest.raises(InputError, match="line 1: a supervision names no audio"):
        entries(tmp_path / "supervisions.jsonl", supervision)
    for kind in ("command", "url", "memory"):
        with pytest.raises(InputError, match=f"the audio is no single file, but: {kind}"):
            entries(tmp_path / "cuts.jsonl", lhotse(source={"type": kind, "source": f"touch {tmp_path}/run |"}))
    assert not (tmp_path / "run").exists()
    bad: list[dict[str, object]] = [{"recording": 3}, {"recording": {"sources": {}}}, {"id": None}, {"duration": -1}]
    for changed in bad:
        with pytest.raises(InputError, match="line 1"):
            entries(tmp_path / "cuts.jsonl", lhotse(**changed))


def test_wav_scp_and_its_commands(tmp_path: Path) -> None:
    found = entries(tmp_path / "wav.scp", "u1 a.wav\nu2 with space.wav\n")
    assert [entry.path for entry in found] == [tmp_path / "a.wav", tmp_path / "with space.wav"]
    with pytest.raises(InputError, match="line 1: a command where a name and a path should be"):
        entries(tmp_path / "wav.scp", f"u1 touch {tmp_path}/run |\n")
    assert not (tmp_path / "run").exists()


def test_references_whose_utterances_are_files(tmp_path: Path) -> None:
    (tmp_path / "clips" / "deep").mkdir(parents=True)
    for name in ("u1.mp3", "deep/u2.flac", "u1.txt"):
        (tmp_path / "clips" / name).touch()
    table = "utt\tsplit\tduration\ttext\nu2\tdev\t2.0\tone\nu1\tdev\t2.0\ttwo\n"
    found = entries(tmp_path / "refs.tsv", table, tmp_path / "clips")
    assert [(entry.utt, entry.path.name, entry.end) for entry in found] == [
        ("u2", "u2.flac", None),
        ("u1", "u1.mp3", None),
    ]
    with pytest.raises(InputError, match=r"refs.tsv, line 2, utterance u3: there is no audio file u3\.\* in "):
        entries(tmp_path / "refs.tsv", "utt\ttext\nu3\tone\n", tmp_path / "clips")


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.wav").touch()
    (tmp_path / "m.tsv").write_text("utt\ttext\na\tone\nb\ttwo\n")
    problems = Problems(skip=True)
    assert [entry.utt for entry in read_manifest(tmp_path / "m.tsv", None, problems)] == ["a"]
    assert [error.utt for error in problems.errors] == ["b"]


def test_a_list_of_files_and_a_wav_scp_with_tabs(tmp_path: Path) -> None:
    assert [entry.utt for entry in entries(tmp_path / "m.tsv", "audio\nx/a.wav\nb.wav\n")] == ["a", "b"]
    assert [entry.path.name for entry in entries(tmp_path / "wav.scp", "u1\ta.wav\nu2\tb.wav\n")] == [
        "a.wav",
        "b.wav",
    ]
    with pytest.raises(InputError, match="commas"):
        entries(tmp_path / "m.csv", "utt,audio\nu1,a.wav\n")


def test_a_folder_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("b.wav", "a/c.OGG", "a/notes.txt"):
        (tmp_path / name).touch()
    assert [entry.utt for entry in read_manifest(tmp_path)] == ["a-c", "b"]
    assert [entry.utt for entry in read_manifest(tmp_path / "b.wav")] == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no utterances in it"),
        ("utt\taudio\n", "there are no utterances in it"),
        ("utt\taudio\nu1\n", "line 2: 1 fields where the header has 2"),
        ("utt\taudio\tstart\nu1\ta.wav\tsoon\n", 'the column start is "soon", not a finite number'),
        ("utt\taudio\tstart\tend\nu1\ta.wav\t3\t2\n", "line 2: it starts at 3 s and ends at 2 s"),
        ("utt\taudio\tchannel\nu1\ta.wav\t0\n", "line 2: the channel is 0"),
        ("utt\taudio\nu1\ta.wav\nu1\tb.wav\n", "line 3, utterance u1: two utterances have this name, also line 2"),
        ('{"audio": 7}\n', "line 1: "),
        ("{broken\n", "line 1"),
        ("alone\n", "line 1: one field where a name and a path should be"),
    ],
)
def test_bad_manifests_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        entries(tmp_path / "m.tsv", text)
    assert message in str(error.value)
    assert "m.tsv" in str(error.value)
