"""Moonshine's graphs and weights: against plain numpy with small random models; damaged files give a clear error."""

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
from wordtrust.recognizers.moonshine.words import fit_of_frames

BEST = 12
SAMPLES = np.random.default_rng(3).normal(0, 0.3, 6_000).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write_model(tmp_path_factory.mktemp("made") / "moonshine-nano")


@pytest.fixture(scope="module")
def model(folder: Path) -> MoonshineModel:
    return load_model(folder, n_text_tokens=made.SPOKEN, best=BEST, threads=1)


def reference_decode(text: list[int]) -> tuple[reference.Array, list[reference.Array]]:
    frames = reference.encode(SAMPLES, made.encoder_weights(), made.HEADS)
    return reference.decode(text, frames, made.decoder_weights(), made.HEADS, made.SPOKEN)


def test_a_tree_of_texts_is_scored_as_each_text_alone(model: MoonshineModel) -> None:
    """Rows with common prefixes, rows that die out and rows that double, against whole texts one by one."""
    steps = [
        ([1], [0]),
        ([5, 9, 7], [0, 0, 0]),
        ([8, 8, 4, 30], [2, 0, 2, 1]),
        ([6, 6], [3, 0]),
        ([3, 9, 12], [1, 0, 1]),
    ]
    decoder = model.encode(SAMPLES)
    texts: list[list[int]] = [[]]
    for tokens, parents in steps:
        texts = [[*texts[parent], token] for token, parent in zip(tokens, parents, strict=True)]
        following = decoder.step(np.array(tokens), np.array(parents))
        for row, text in enumerate(texts):
            expected, attention = reference_decode(text)
            order = np.argsort(-expected[-1])[:BEST]
            assert following.tokens[row].tolist() == order.tolist()
            assert following.logprobs[row] == pytest.approx(expected[-1, order], abs=2e-4)
            assert following.end[row] == pytest.approx(expected[-1, END], abs=2e-4)
            fit = fit_of_frames(attention[-1][:, -1:].astype(np.float32))[0]
            assert decoder.fits[-1][row] == pytest.approx(fit, abs=2e-3)


def test_the_score_of_a_hypothesis_is_that_of_its_text(model: MoonshineModel) -> None:
    result = beam_search(model.encode(SAMPLES), beam=6, max_tokens=9)
    assert len(result.hypotheses) == 6
    for hypothesis in result.hypotheses:
        text = [1, *hypothesis.tokens.tolist()]
        expected, _ = reference_decode(text)
        chain = [expected[position, token] for position, token in enumerate([*text[1:], END])]
        assert hypothesis.score == pytest.approx(sum(chain), abs=1e-3)
        assert hypothesis.logprobs == pytest.approx(chain[:-1], abs=3e-4)
    assert result.empty_logprob == pytest.approx(reference_decode([1])[0][0, END], abs=2e-4)


def test_weights_in_int8_become_the_nearest_floats(tmp_path: Path) -> None:
    folder = made.write_model(tmp_path / "int8", int8=True)
    weights, exact = read_part(folder / "decoder_model_merged.onnx").weights, made.decoder_weights()
    assert set(weights) == set(exact)
    for name, values in exact.items():
        step = np.abs(values).max() / 127 if values.ndim == 2 else 0
        assert np.abs(weights[name] - values).max() <= 0.51 * step


def test_a_model_of_another_size_is_named_after_its_folder(folder: Path) -> None:
    recognizer = moonshine.load(str(folder))
    assert (recognizer.identity.name, recognizer.identity.version) == ("moonshine-nano", "folder")
    hypotheses = recognizer.recognize(SAMPLES)["nbest"]
    assert len(hypotheses) == moonshine.BEAM
    assert all(0 <= word["start"] <= word["end"] <= 0.375 for one in hypotheses for word in one["words"])


def test_tied_embeddings_need_no_second_copy(tmp_path: Path) -> None:
    decoder = made.decoder_weights()
    decoder["logits"] = np.ascontiguousarray(decoder["embed_tokens.weight"].T)
    untied = moonshine.load(str(made.write_model(tmp_path / "untied", decoder=decoder))).recognize(SAMPLES)
    del decoder["logits"]
    tied = moonshine.load(str(made.write_model(tmp_path / "tied", decoder=decoder))).recognize(SAMPLES)
    assert tied == untied


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layers.1.encoder_attn.k_proj", None, "layers.1.encoder_attn.k_proj"),
        ("norm.weight", None, "norm.weight"),
        ("rotary", None, "rotary|angles"),
        ("layers.0.mlp.fc2.bias", None, "layers.0.mlp.fc2.bias"),
        ("layers.0.mlp.fc1", np.zeros((16, 60), np.float32), r"fc1 of the decoder are \(16, 60\)"),
        ("norm.weight", np.full(16, np.nan, np.float32), r"norm\.weight are not all finite"),
        ("logits", np.full((16, 45), 3e38, np.float32), "no finite scores"),
    ],
)
def test_bad_weights_are_named(tmp_path: Path, name: str, value: reference.Array | None, message: str) -> None:
    decoder = {key: array for key, array in made.decoder_weights().items() if key != name or value is not None}
    if value is not None:
        decoder[name] = np.asarray(value, np.float32)
    with pytest.raises(InputError, match=message):
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
        for offset in random.integers(0, min(length, 40_000), 30).tolist():
            damaged[offset] = int(random.integers(256))
        path.write_bytes(damaged)
        with suppress(InputError):
            read_part(path)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    folder = made.write_model(tmp_path / "model")
    (folder / "tokenizer.bin").write_bytes(made.tokenizer_bytes() + b"\x01x")
    with pytest.raises(InputError, match="46 tokens in the tokenizer, and 45 in the decoder"):
        moonshine.load(str(folder))
    (folder / "tokenizer.bin").write_bytes(b"\x01x\x01y")
    with pytest.raises(InputError, match="2 tokens to write with"):
        moonshine.load(str(folder))
    made.write_part(folder / "decoder_model_merged.onnx", made.decoder_weights())
    with pytest.raises(InputError, match="heads"):
        moonshine.load(str(folder))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no folder"):
        moonshine.load(str(tmp_path / "nowhere"))
    folder = made.write_model(tmp_path / "model")
    (folder / "decoder_model_merged.onnx").unlink()
    with pytest.raises(InputError, match=r"neither decoder_model_merged\.ort nor decoder_model_merged\.onnx"):
        moonshine.load(str(folder))
    (folder / "tokenizer.bin").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.bin"):
        moonshine.load(str(folder))
