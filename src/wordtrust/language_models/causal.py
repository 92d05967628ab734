"""Causal language models of transformers: a folder, a name on the hub, or a GGUF file.

Only weights in safetensors or GGUF are read: the older .bin files are pickles, which can run code, and no code that
comes with a model runs. A sentence begins with the model's token for that; words stand in the recognizer's spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ..base.arrays import csr_items
from ..base.errors import InputError, OptionError
from .language_model import Sentence
from .passes import Pass, path_passes, tree_passes
from .tokens import Tokens, cannot_load, pretrained
from .tries import Numbers, Reals, TokenizedPath, TokenTries

TOKENS = {"cpu": 512, "cuda": 8192}  # in one pass
ROW_TOKENS = 512  # of tries in one row; a token is compared with all others of its row
LARGEST_TRIE = 2048  # tokens; larger ones go path by path
CONTEXT = 1024  # tokens that a word is read with, at most
_AGREE = 1e-2  # natural log: what a model may differ by for the same token in a tree and in plain text


class CausalModel:
    """The weights at work: log-probabilities of the tokens of tries."""

    def __init__(self, network: Any, *, name: str = "", device: str = "cpu") -> None:
        self._device = _device(device)
        self._network, self._name = network.eval().to(self._device), name
        self._tokens = TOKENS["cpu" if self._device.type == "cpu" else "cuda"]
        longest = getattr(network.config, "max_position_embeddings", None) or CONTEXT
        self._context = min(CONTEXT, int(longest))
        self._takes_trees = self._context > 8 and self._agrees_on_trees()

    @classmethod
    def load(cls, model: str | Path, *, device: str = "auto", threads: int | None = None) -> CausalModel:
        """The weights of a folder, a GGUF file, or a name on the hub."""
        if threads is not None:
            torch.set_num_threads(threads)
        transformers.utils.logging.disable_progress_bar()
        arguments = pretrained(model)
        try:
            network = transformers.AutoModelForCausalLM.from_pretrained(
                **arguments, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
            )
        except Exception as error:  # what transformers and the hub raise about bad models has no common root
            raise cannot_load(model, error) from None
        return cls(network, name=str(model), device=device)

    def score(self, tries: TokenTries, start: int) -> Reals:
        """[nodes] the log-probability of every token given those on its path, 0 at the start."""
        most = max(start, int(tries.token.max(initial=0)))
        if most >= self._network.get_input_embeddings().num_embeddings:
            raise InputError("the tokenizer has more tokens than the model", file=self._name, remedy="Do they fit?")
        logprob = np.zeros(len(tries.token))
        for part in self._passes(tries, start):
            logprob[part.node] = self._run(part, tries.token[part.node])
        if not np.isfinite(logprob).all():
            raise InputError("its output has values that are no numbers", file=self._name, remedy="Is it whole?")
        return logprob

    def _passes(self, tries: TokenTries, start: int) -> Iterator[Pass]:
        size, depth = np.diff(tries.offsets), np.zeros(len(tries), np.int64)
        if len(tries):
            depth = np.maximum.reduceat(tries.depth, tries.offsets[:-1])
        in_trees = self._takes_trees & (size <= LARGEST_TRIE) & (depth <= self._context)
        row_tokens = min(ROW_TOKENS, self._tokens)
        trees, others = np.flatnonzero(in_trees), np.flatnonzero(~in_trees)
        rows = self._tokens // row_tokens
        for part in tree_passes(tries.select(trees), start, row_tokens=row_tokens, rows=rows):
            yield part._replace(node=csr_items(tries.offsets, trees)[part.node])
        for part in path_passes(tries.select(others), start, context=self._context, tokens=self._tokens):
            yield part._replace(node=csr_items(tries.offsets, others)[part.node])

    def _run(self, part: Pass, following: Numbers) -> Reals:
        """The log-probabilities of tokens, each after the token of the pass that comes before it."""
        arguments = {"input_ids": torch.from_numpy(part.tokens).to(self._device)}
        if part.position is not None and part.attends is not None:
            sees = torch.from_numpy(part.attends[:, None]).to(self._device)
            lowest = torch.finfo(self._network.dtype).min
            arguments["attention_mask"] = torch.where(sees, 0.0, lowest).to(self._network.dtype)
            arguments["position_ids"] = torch.from_numpy(part.position).to(self._device)
        row, column, token = (torch.from_numpy(a).to(self._device) for a in (part.row, part.column, following))
        with torch.inference_mode():
            logits = self._network(**arguments, use_cache=False).logits
            total = logits.float().logsumexp(-1)
            values: Reals = (logits[row, column, token].float() - total[row, column]).double().cpu().numpy()
        return values

    def _agrees_on_trees(self) -> bool:
        """Whether the model gives the same in a tree as in plain text: many do not know such masks."""
        tokens = [token % self._network.config.vocab_size for token in (7, 11, 13, 17, 19)]
        paths = [TokenizedPath([tokens[i] for i in path], [len(path)]) for path in ((0, 1, 2), (0, 3, 4, 1), (2, 3))]
        tries, first = TokenTries.of([paths, paths[1:]]), tokens[4]
        try:
            (tree,) = tree_passes(tries, first, row_tokens=64, rows=1)
            in_tree = dict(zip(tree.node.tolist(), self._run(tree, tries.token[tree.node]), strict=True))
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False
        plain = {
            int(node): value
            for part in path_passes(tries, first, context=8, tokens=64)
            for node, value in zip(part.node, self._run(part, tries.token[part.node]), strict=True)
        }
        return all(abs(plain[node] - value) <= _AGREE for node, value in in_tree.items())


class CausalLanguageModel:
    """A causal model with its tokenizer. The end of a sentence counts for nothing: text goes on."""

    reads_surfaces = True

    def __init__(self, name: str, tokens: Tokens, weights: CausalModel) -> None:
        self.name = name
        self._tokens, self._weights = tokens, weights

    @classmethod
    def load(cls, model: str | Path, *, device: str = "auto", threads: int | None = None) -> CausalLanguageModel:
        """A folder, a GGUF file, or a name on the hub."""
        tokens = Tokens.load(model)
        return cls(Path(model).name, tokens, CausalModel.load(model, device=device, threads=threads))

    def word_logprobs(self, utterances: Sequence[Sequence[Sentence]]) -> Reals:
        """The log-probability of each word of each hypothesis, and 0 for its end."""
        tries = TokenTries.of(self._tokens.paths(utterances))
        return tries.word_logprobs(self._weights.score(tries, self._tokens.start))


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise OptionError(f"the device {name!r} cannot be used: {' '.join(str(error).split())[:200]}") from None
    return device
