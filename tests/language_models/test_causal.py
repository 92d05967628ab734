"""Causal models of transformers, made here with random weights, against every sentence scored alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.language_models.test_evidence import SAMPLE
from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats import read
from wordtrust.language_models import loading
from wordtrust.language_models.evidence import COLUMNS, load_evidence
from wordtrust.language_models.fingerprint import fingerprint, is_same
from wordtrust.language_models.language_model import LanguageModel, Sentence
from wordtrust.lattices.text import JOINER
from wordtrust.networks.hwcn import build

UTTERANCES: list[list[Sentence]] = [
    [["The", "soup", "needs", "salt."], ["The", "suit", "needs", "salt"], ["The"], []],
    [[f"Middle-{JOINER}", "earth", "naïve"], ["</s>", "<s>"]],
]


def _tokenizer() -> Any:
    """Letters of UTF-8 as tokens, a space with the letter after it: no word is a single token."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate(["<s>", "</s>", *letters, "Ġs", "ou"])}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("Ġ", "s"), ("o", "u")]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


def _network(kind: str) -> Any:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(3)
    sizes = {
        "Llama": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                  "num_key_value_heads": 1, "initializer_range": 0.5},
        "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5},
        "Bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5},
    }  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(vocab_size=260, **sizes[kind])
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.fixture(params=["Llama", "GPT2", "Bloom"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    _tokenizer().save_pretrained(tmp_path / "lm")
    _network(request.param).save_pretrained(tmp_path / "lm")
    return tmp_path / "lm"


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    _tokenizer().save_pretrained(tmp_path / "lm")
    _network("Llama").save_pretrained(tmp_path / "lm")
    return tmp_path / "lm"


def _write_gguf(llama: Path, path: Path) -> None:
    """The model of a folder as llama.cpp's converter writes it: other names, rows of q and k interleaved."""
    gguf, transformers = pytest.importorskip("gguf"), pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    network = transformers.AutoModelForCausalLM.from_pretrained(llama)
    config, writer = network.config, gguf.GGUFWriter(path, "llama")
    _add_sizes(writer, config)
    _add_tokens(writer)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, weight in network.state_dict().items():
        values = weight.float().numpy()
        for count in (count for kind, count in heads.items() if kind in name):
            halves = values.reshape(count, 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(names.get_name(name, (".weight",)), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_sizes(writer: Any, config: Any) -> None:
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)


def _add_tokens(writer: Any) -> None:
    tokenizer = _tokenizer()
    tokens = [tokenizer.convert_ids_to_tokens(index) for index in range(len(tokenizer))]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *([1] * (len(tokens) - 2))])  # control tokens, then normal ones
    writer.add_token_merges(["Ġ s", "o u"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)


def test_a_gguf_file_says_what_its_folder_says(llama: Path, tmp_path: Path) -> None:
    _write_gguf(llama, tmp_path / "lm.gguf")
    one, other = (loading.load_language_model(path, device="cpu") for path in (tmp_path / "lm.gguf", llama))
    sentences = [utterance[:3] for utterance in UTTERANCES[:1]]
    assert one.word_logprobs(sentences) == pytest.approx(other.word_logprobs(sentences), abs=1e-3)
    assert is_same(fingerprint(one), fingerprint(other))


def _alone(folder: Path, words: Sentence) -> list[float]:
    """Each word's log-probability: the sentence up to it less the sentence before it, by one plain pass."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer, totals = _tokenizer(), [0.0]
    for count in range(1, len(words) + 1):
        text = " ".join(words[:count]).replace(JOINER + " ", "").removesuffix(JOINER)
        pieces = [text] if "</s>" not in text else list(text)  # letter by letter there is nothing special in it
        ids = [0, *(i for piece in pieces for i in tokenizer(piece, add_special_tokens=False)["input_ids"])]
        with torch.inference_mode():
            logs = network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
        totals.append(float(sum(logs[i, following] for i, following in enumerate(ids[1:]))))
    return [*np.diff(totals).tolist(), 0.0]


def test_words_have_the_probability_that_they_have_alone(folder: Path) -> None:
    values = loading.load_language_model(folder, device="cpu").word_logprobs(UTTERANCES)
    expected = [value for sentences in UTTERANCES for sentence in sentences for value in _alone(folder, sentence)]
    assert values == pytest.approx(expected, abs=1e-3)


def test_tries_too_large_for_a_tree_go_path_by_path(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordtrust.language_models import causal

    model = loading.load_language_model(llama, device="cpu")
    in_trees = model.word_logprobs(UTTERANCES)
    monkeypatch.setattr(causal, "LARGEST_TRIE", 0)
    assert model.word_logprobs(UTTERANCES) == pytest.approx(in_trees, abs=1e-4)


def test_sentences_scored_on_another_machine(llama: Path, tmp_path: Path) -> None:
    from wordtrust.language_models.__main__ import main
    from wordtrust.networks.build_store import BuildOptions, build_store

    lattices = read(SAMPLE)[:12]
    build_store([lattices], tmp_path / "networks", BuildOptions())
    tries, scored = tmp_path / "some.tries", tmp_path / "some.scored"
    where = ["--lm", str(llama), "--out"]
    assert main(["export", str(tmp_path / "networks"), *where, str(tries)]) == 0
    assert main(["score", str(tries), "--device", "cpu", *where, str(scored)]) == 0
    networks = build(lattices).lattices
    there, here = load_evidence(scored)(networks), load_evidence(llama)(networks)
    for column in COLUMNS:
        assert there.extra[column] == pytest.approx(here.extra[column], abs=1e-3)
    by_both = [fingerprint(load_evidence(lm).model) for lm in (scored, llama)]
    assert by_both[0] == pytest.approx(by_both[1], abs=1e-2)
    with pytest.raises(OptionError, match="has the 8 best sentences"):
        load_evidence(scored, k=4)
    with pytest.raises(InputError, match="it has no scores for the 8 best sentences"):
        load_evidence(scored)(build(read(SAMPLE)[12:14]).lattices)


def test_damaged_files_of_sentences(llama: Path, tmp_path: Path) -> None:
    from wordtrust.base.tensors import read_tensors, write_tensors
    from wordtrust.language_models.causal import CausalModel
    from wordtrust.language_models.scored_sentences import export_sentences, score_file
    from wordtrust.language_models.tokens import Tokens

    tries = tmp_path / "some.tries"
    export_sentences([build(read(SAMPLE)[:2]).lattices], Tokens.load(llama), "lm", 2, tries)
    weights = CausalModel.load(llama, device="cpu")
    arrays, about = read_tensors(tries)
    for name in ("parent", "end", "offsets", "end_offsets", "digest"):
        write_tensors(tmp_path / "bad", {**arrays, name: arrays[name] + np.uint8(200)}, about)
        if name == "digest":
            write_tensors(tmp_path / "bad", {**arrays, name: arrays[name][1:]}, about)
        with pytest.raises(InputError, match="not what wordtrust wrote"):
            list(score_file(tmp_path / "bad", weights, tmp_path / "out"))
    with pytest.raises(InputError, match="not 'wordtrust scored sentences'"):
        load_evidence(tries)


def test_what_is_no_causal_model(llama: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\0\0\0" + bytes(20))
    (tmp_path / "empty").mkdir()
    for path, found in ((tmp_path / "cut.gguf", "cannot load|needs gguf"), (tmp_path / "empty", "without a config")):
        with pytest.raises((InputError, OptionError), match=found):
            loading.load_language_model(path)
    weights = llama / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(InputError, match="cannot load this language model"):
        loading.load_language_model(llama)
    weights.unlink()
    with pytest.raises(InputError, match="without weights"):
        loading.load_language_model(llama)
    (llama / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match="are pickles"):
        loading.load_language_model(llama)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(OptionError, match=r"needs transformers and torch, .*install .*\[lm\]"):
        loading.load_language_model(tmp_path)


def test_what_a_language_model_is(llama: Path) -> None:
    model: LanguageModel = loading.load_language_model(llama, device="cpu")
    assert (model.name, model.reads_surfaces) == ("lm", True)
    with pytest.raises(OptionError, match="the device 'moon' cannot be used"):
        loading.load_language_model(llama, device="moon")
