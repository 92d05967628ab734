"""Train the trees beside the network (`confidence.trees`), through scikit-learn. The same data give the same trees.

- `plain_trees`: they see features only, and are trained on what the network is trained on. They count half.
- `generic_trees`: the same over several recognizers, for those that nobody has seen.
- `stacked_trees`: they see what the network says of each arc as well, where there are models of all folds.

Weights of the corrections were chosen on dev (`python -m experiments.trees`). Needs numpy and scikit-learn only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..base.installation import install_command
from ..confidence.features import optional_groups
from ..confidence.trees import NEVER, Trees
from ..lattices.lattice import Floats
from .dataset import TrainingData

TREES, DEPTH, RATE, LEAST_IN_LEAF, PENALTY = 100, 4, 0.12, 40, 5.0
GENERIC_WEIGHT, GENERIC_LEAST_IN_LEAF, GENERIC_PENALTY = 0.5, 200, 20.0  # chosen by leaving out families on dev
GENERIC_WORDS = 20_000  # of each recognizer on its 1-best, and as many that are not
LEAST_WORDS = 5_000  # with fewer words trees follow chance
MOST_WORDS = 2_000_000  # that trees are trained on: more take hours and bring little

Bits = NDArray[np.int8]


def is_available() -> bool:
    """Whether scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return False
    return True


def require_sklearn(otherwise: str) -> None:
    """Raise an `OptionError` that says how to install scikit-learn, or what to do `otherwise`."""
    if not is_available():
        raise OptionError(f"trees beside the network need scikit-learn: {install_command('train')}; {otherwise}")


def fit_trees(inputs: Floats, right: Bits, *, share_weight: float, chance_weight: float, with_network: bool) -> Trees:
    """Trees that tell which of these words are right."""
    return tables_of(fit_boosting(inputs, right), share_weight, chance_weight, with_network)


def fit_boosting(inputs: Floats, right: Bits, least_in_leaf: int = LEAST_IN_LEAF, penalty: float = PENALTY) -> Any:
    """The same as a classifier of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if len(right) > MOST_WORDS:
        chosen = np.sort(np.random.default_rng(0).choice(len(right), MOST_WORDS, replace=False))
        inputs, right = inputs[chosen], right[chosen]
    boosting = HistGradientBoostingClassifier(
        max_iter=TREES, max_depth=DEPTH, max_leaf_nodes=None, learning_rate=RATE, min_samples_leaf=least_in_leaf,
        l2_regularization=penalty, early_stopping=False, random_state=0,
    )  # fmt: skip
    return boosting.fit(inputs, right)


def tables_of(boosting: Any, share_weight: float, chance_weight: float, with_network: bool) -> Trees:
    """The tables of a classifier of scikit-learn, whose log-odds they give."""
    nodes_of = [predictors[0].nodes for predictors in boosting._predictors]
    depth = max(1, *(int(nodes["depth"].max()) for nodes in nodes_of))
    shape = (len(nodes_of), (1 << depth) - 1)
    feature, missing_right = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    threshold, leaf = np.full(shape, NEVER), np.zeros((len(nodes_of), 1 << depth))
    for tree, nodes in enumerate(nodes_of):
        _fill(nodes, depth, feature[tree], threshold[tree], missing_right[tree], leaf[tree])
    leaf[0] += float(boosting._baseline_prediction[0, 0])
    return Trees(
        feature, _rounded_down(np.minimum(threshold, NEVER)), missing_right, leaf.astype(np.float32),
        share_weight, chance_weight, with_network,
    )  # fmt: skip


def _fill(nodes: Any, depth: int, feature: Any, threshold: Any, missing_right: Any, leaf: Any) -> None:
    """Put the nodes of one tree of scikit-learn into the rows of a full binary tree."""
    waiting = [(0, 0, 0)]  # its number there, here, and its level
    while waiting:
        there, here, level = waiting.pop()
        node = nodes[there]
        if node["is_leaf"] and level == depth:
            leaf[here - len(feature)] = node["value"]
        elif node["is_leaf"]:  # goes on to leaves that are alike
            waiting += [(there, 2 * here + 1, level + 1), (there, 2 * here + 2, level + 1)]
        else:
            feature[here], threshold[here] = node["feature_idx"], node["num_threshold"]
            missing_right[here] = not node["missing_go_to_left"]
            waiting += [(node["left"], 2 * here + 1, level + 1), (node["right"], 2 * here + 2, level + 1)]


def _rounded_down(values: NDArray[np.float64]) -> Floats:
    """In single precision, so that the same numbers of single precision are larger."""
    rounded = values.astype(np.float32)
    return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def plain_trees(data: TrainingData, chosen: NDArray[np.int64] | None = None) -> Trees | None:
    """Trees that see features only, of all utterances or those chosen to train on.

    None where there are too few words, or scikit-learn is not there.
    """
    train = data.train
    heard = np.ones(len(train), np.bool_) if chosen is None else np.isin(np.arange(len(train)), chosen)
    rows = np.flatnonzero(np.repeat(heard, np.diff(train.arc_offsets)) & (train.word >= 0) & (train.label >= 0))
    right = train.label[rows]
    if not is_enough(right) or not is_available():
        return None
    inputs = train.features[rows].astype(np.float32)
    return fit_trees(inputs, right, share_weight=0.0, chance_weight=0.5, with_network=False)


def generic_trees(recognizers: Iterable[TrainingData], columns: Sequence[str], evidence_drop: float = 0.4) -> Trees:
    """Trees that see features only, those of a generic model, over words of several recognizers alike.

    Columns that a recognizer lacks are 0; some words of others are seen without each optional group as well.
    """
    rng = np.random.default_rng(0)
    parts = [_generic_rows(data, columns, evidence_drop, rng) for data in recognizers]
    inputs, right = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if not is_enough(right):
        raise OptionError(f"{len(right):,} words are too few for trees: leave them out, or give more recognizers")
    boosting = fit_boosting(inputs, right, GENERIC_LEAST_IN_LEAF, GENERIC_PENALTY)
    return tables_of(boosting, share_weight=0.0, chance_weight=GENERIC_WEIGHT, with_network=False)


def _generic_rows(
    data: TrainingData, columns: Sequence[str], evidence_drop: float, rng: np.random.Generator
) -> tuple[Floats, Bits]:
    train, own = data.train, data.statistics.columns
    is_word, on_best = (train.word >= 0) & (train.label >= 0), train.features[:, own.index("one_best")] > 0
    chosen = [np.flatnonzero(is_word & on_best), np.flatnonzero(is_word & ~on_best)]
    rows = np.concatenate([rng.choice(some, min(len(some), GENERIC_WORDS), replace=False) for some in chosen])
    inputs = np.zeros((len(rows), len(columns)), np.float32)
    inputs[:, [columns.index(column) for column in own]] = train.features[rows]
    for group in optional_groups(columns):
        hidden = np.flatnonzero(rng.random(len(rows)) < evidence_drop)
        inputs[hidden[:, None], group] = 0.0
    return inputs, train.label[rows]


def is_enough(right: Bits) -> bool:
    """Whether trees can be trained on these words."""
    return len(right) >= LEAST_WORDS and min(int(right.sum()), int((right == 0).sum())) >= LEAST_IN_LEAF
