"""Moonshine's graphs against plain numpy, with small random models; what is damaged gives a clear error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import made_moonshine as made
from tests.helpers import reference_moonshine as reference
from wordtrust.base.errors import InputError, OptionError
from wordtrust.recognizers.moonshine import adapter as moonshine
from wordtrust.recognizers.moonshine.graphs import END
from wordtrust.recognizers.moonshine.model_files import read_part
from wordtrust.recognizers.moonshine.search import MoonshineModel, beam_search, load_model

BEST = 12
SAMPLES = np.random.default_rng(3).normal(0, 0.3, 6_000).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write_model(tmp_path_factory.mktemp("made") / "moonshine-nano")


@pytest.fixture(scope="module")
def graphs(folder: Path) -> MoonshineModel:
    return load_model(folder, n_text_tokens=made.SPOKEN, best=BEST, threads=1)


def test_a_tree_of_texts_is_scored_as_each_text_alone(graphs: MoonshineModel) -> None:
    """Rows with common beginnings, rows that die out and rows that double, against whole texts one by one."""
    steps = [
        ([1], [0]),
        ([5, 9, 7], [0, 0, 0]),
        ([8, 8, 4, 30], [2, 0, 2, 1]),
        ([6, 6], [3, 0]),
        ([3, 9, 12], [1, 0, 1]),
    ]
    frames = reference.encode(SAMPLES, made.encoder_weights(), made.HEADS)
    decoding = graphs.encode(SAMPLES)
    texts: list[list[int]] = [[]]
    for tokens, parents in steps:
        texts = [[*texts[parent], token] for token, parent in zip(tokens, parents, strict=True)]
        found = decoding.step(np.array(tokens), np.array(parents))
        for row, text in enumerate(texts):
            expected, looks = reference.decode(text, frames, made.decoder_weights(), made.HEADS, made.SPOKEN)
            order = np.argsort(-expected[-1])[:BEST]
            assert found.tokens[row].tolist() == order.tolist()
            assert found.logprobs[row] == pytest.approx(expected[-1, order], abs=2e-4)
            assert found.end[row] == pytest.approx(expected[-1, END], abs=2e-4)
            assert decoding.fits[-1][row] == pytest.approx(_fit(looks[-1][:, -1]), abs=2e-3)


def _fit(looks: reference.Array) -> list[float]:
    """The mean over heads of the running median of three of z-scores."""
    scores = (looks - looks.mean(axis=1, keepdims=True)) / looks.std(axis=1, keepdims=True)
    found = []
    for frame in range(looks.shape[1]):
        around = [min(max(frame + shift, 0), looks.shape[1] - 1) for shift in (-1, 0, 1)]
        found.append(float(np.mean([np.median(head[around]) for head in scores])))
    return found


def test_the_score_of_a_hypothesis_is_that_of_its_text(graphs: MoonshineModel) -> None:
    frames = reference.encode(SAMPLES, made.encoder_weights(), made.HEADS)
    found = beam_search(graphs.encode(SAMPLES), beam=6, max_tokens=9)
    assert len(found.hypotheses) == 6
    for each in found.hypotheses:
        text = [1, *each.tokens.tolist()]
        expected, _ = reference.decode(text, frames, made.decoder_weights(), made.HEADS, made.SPOKEN)
        chain = [expected[place, token] for place, token in enumerate([*text[1:], END])]
        assert each.score == pytest.approx(sum(chain), abs=1e-3)
        assert each.logprobs == pytest.approx(chain[:-1], abs=3e-4)
    nothing = reference.decode([1], frames, made.decoder_weights(), made.HEADS, made.SPOKEN)[0]
    assert found.empty_logprob == pytest.approx(nothing[0, END], abs=2e-4)


def test_weights_in_int8_become_the_nearest_floats(tmp_path: Path) -> None:
    folder = made.write_model(tmp_path / "int8", int8=True)
    found, exact = read_part(folder / "decoder_model_merged.onnx").weights, made.decoder_weights()
    assert set(found) == set(exact)
    for name, values in exact.items():
        step = np.abs(values).max() / 127 if values.ndim == 2 else 0
        assert np.abs(found[name] - values).max() <= 0.51 * step


def test_a_folder_of_another_size_is_named_by_the_folder(folder: Path) -> None:
    loaded = moonshine.load(str(folder))
    assert loaded.identity.name == "moonshine-nano"
    assert loaded.identity.version == "folder"
    record = loaded.recognize(SAMPLES)
    assert len(record["nbest"]) == moonshine.BEAM
    assert all(0 <= word["start"] <= word["end"] <= 0.375 for each in record["nbest"] for word in each["words"])


def test_tied_embeddings_need_no_second_copy(tmp_path: Path, folder: Path) -> None:
    decoder = made.decoder_weights()
    decoder["logits"] = np.ascontiguousarray(decoder["embed_tokens.weight"].T)
    untied = moonshine.load(str(made.write_model(tmp_path / "untied", decoder=decoder))).recognize(SAMPLES)
    del decoder["logits"]
    tied = moonshine.load(str(made.write_model(tmp_path / "tied", decoder=decoder))).recognize(SAMPLES)
    assert tied == untied


@pytest.mark.parametrize("name", ["layers.1.encoder_attn.k_proj", "norm.weight", "rotary", "layers.0.mlp.fc2.bias"])
def test_missing_weights_are_named(tmp_path: Path, name: str) -> None:
    decoder = made.decoder_weights()
    del decoder[name]
    with pytest.raises(InputError, match="rotary|angles" if name == "rotary" else name):
        moonshine.load(str(made.write_model(tmp_path / "model", decoder=decoder)))


def test_weights_of_another_shape_are_named(tmp_path: Path) -> None:
    encoder = made.encoder_weights()
    encoder["conv2.weight"] = encoder["conv2.weight"][:, :, :5]
    with pytest.raises(InputError, match=r"conv2\.weight of the encoder are \(32, 16, 5\)"):
        moonshine.load(str(made.write_model(tmp_path / "model", encoder)))


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    decoder = made.decoder_weights()
    decoder["norm.weight"][0] = np.nan
    with pytest.raises(InputError, match=r"norm\.weight are not all finite"):
        moonshine.load(str(made.write_model(tmp_path / "model", decoder=decoder)))


def test_weights_too_large_to_compute_with_are_an_error_of_the_model(tmp_path: Path) -> None:
    decoder = made.decoder_weights()
    decoder["logits"] = np.full_like(decoder["logits"], 3e38)
    with pytest.raises(InputError, match="no finite scores"):
        moonshine.load(str(made.write_model(tmp_path / "model", decoder=decoder))).recognize(SAMPLES)


@pytest.mark.parametrize("suffix", ["ort", "onnx"])
@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"rubbish" * 99, b"\x20\0\0\0ORTM" + b"\xff" * 99])
def test_files_that_are_no_graphs(tmp_path: Path, suffix: str, content: bytes) -> None:
    folder = made.write_model(tmp_path / "model")
    (folder / "encoder_model.onnx").unlink()
    (folder / f"encoder_model.{suffix}").write_bytes(content)
    with pytest.raises(InputError, match="encoder"):
        moonshine.load(str(folder))


def test_a_damaged_ort_file_never_ends_in_a_traceback(tmp_path: Path) -> None:
    """Bytes of the real encoder's tables are changed, or its end is cut off."""
    content = (moonshine.weights_folder() / "encoder_model.ort").read_bytes()
    random, path = np.random.default_rng(7), tmp_path / "encoder_model.ort"
    for length in (100, 5_000, 1_000_000, len(content) - 1, len(content)):
        damaged = bytearray(content[:length])
        for place in random.integers(0, min(length, 40_000), 30).tolist():
            damaged[place] = int(random.integers(256))
        path.write_bytes(damaged)
        with suppress(InputError):
            read_part(path)


def test_a_decoder_without_heads(tmp_path: Path) -> None:
    folder = made.write_model(tmp_path / "model")
    made.write_part(folder / "decoder_model_merged.onnx", made.decoder_weights())
    with pytest.raises(InputError, match="heads"):
        moonshine.load(str(folder))


def test_a_tokenizer_of_another_model(tmp_path: Path) -> None:
    folder = made.write_model(tmp_path / "model")
    (folder / "tokenizer.bin").write_bytes(made.tokenizer_bytes() + b"\x01x")
    with pytest.raises(InputError, match="46 tokens in the tokenizer, and 45 in the decoder"):
        moonshine.load(str(folder))
    (folder / "tokenizer.bin").write_bytes(b"\x01x\x01y")
    with pytest.raises(InputError, match="2 tokens to write with"):
        moonshine.load(str(folder))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no folder"):
        moonshine.load(str(tmp_path / "nowhere"))
    folder = made.write_model(tmp_path / "model")
    (folder / "decoder_model_merged.onnx").unlink()
    with pytest.raises(InputError, match=r"neither decoder_model_merged\.ort nor decoder_model_merged\.onnx"):
        moonshine.load(str(folder))
    (folder / "tokenizer.bin").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.bin"):
        moonshine.load(str(folder))
