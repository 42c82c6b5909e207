"""Classifiers that see through a profile of rules: what all columns together state about who is the group's.

Notation
--------
==========  ========  ==============================================================================
symbol      shape     meaning
==========  ========  ==============================================================================
code        (n, C)    uint8, columns of `coding`
y           (n,)      whether a record of the sample is the group's
pi          scalar    share of the group in the population that the sample is from
s           scalar    share of the group in the sample, which has more of it
p           (n,)      probability of a record, with odds corrected by (pi / (1 - pi)) / (s / (1 - s))
==========  ========  ==============================================================================

The library is imported when the first classifier is trained: it takes seconds, and most workers never need it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.classifiers.coding import CODES, Codes

ClassifierName = Literal["naive_bayes", "gradient_boosting"]
CLASSIFIERS: Final[tuple[ClassifierName, ...]] = ("naive_bayes", "gradient_boosting")
_FOLDS: Final = 3
#: Records whose columns are permuted, one column after the other.
_PERMUTED: Final = 10_000
_COARSE: Final = 8
RECALLS: Final = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Classifier:
    """A trained classifier: probabilities of coded records in the population."""

    name: ClassifierName
    probabilities: Callable[[Codes], FloatArray]


@dataclass(frozen=True)
class Judged:
    """How well classifiers of one kind do where they are judged by records that they were not trained on.

    Attributes
    ----------
    auc : probability that a record of the group has a higher score than another one.
    precision : share of the group among the records above the score that finds a share of it, for each of `RECALLS`.
    driving : (C,), by how much the first fold's AUC falls when a column is permuted.
    """

    auc: float
    precision: tuple[float, ...]
    driving: FloatArray


def trained(
    name: ClassifierName, codes: Codes, y: BoolArray, share: float, categorical: Sequence[bool], seed: int
) -> Classifier:
    """A classifier of all records of a sample; `share` is pi."""
    model: Any = _naive_bayes(categorical) if name == "naive_bayes" else _boosting(categorical, seed)
    model.fit(codes, y)
    s = float(y.mean())
    shift = np.log(share / (1.0 - share)) - np.log(s / (1.0 - s))

    def probabilities(some: Codes) -> FloatArray:
        p = np.clip(model.predict_proba(some)[:, 1], 1e-12, 1.0 - 1e-12)
        return np.asarray(1.0 / (1.0 + np.exp(-(np.log(p / (1.0 - p)) + shift))))

    return Classifier(name, probabilities)


def judged(
    name: ClassifierName,
    codes: Codes,
    y: BoolArray,
    share: float,
    categorical: Sequence[bool],
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> Judged:
    """Cross-validation on the sample, weighed as the population."""
    fold = np.empty(len(y), dtype=np.int64)
    for part in (y, ~y):  # each fold has members and others, however few members there are
        fold[part] = rng.permutation(np.arange(int(part.sum())) % _FOLDS)
    scores, driving = np.empty(len(y)), np.zeros(codes.shape[1])
    for one in range(_FOLDS):
        out = fold == one
        model = trained(name, codes[~out], y[~out], share, categorical, seed=one)
        scores[out] = model.probabilities(codes[out])
        if one == 0:
            driving = _driving(model, codes[out], y[out], rng)
        tick((one + 1) / _FOLDS)
    weights = np.where(y, share / y.mean(), (1.0 - share) / (1.0 - y.mean()))
    return Judged(auc(scores, y), tuple(precision_at(scores, y, weights, recall) for recall in RECALLS), driving)


def sample(vital: BoolArray, count: int, rng: np.random.Generator) -> IntArray:
    """Rows to train on, rising: half of them the group's at most, the others drawn among the rest."""
    group, rest = np.flatnonzero(vital), np.flatnonzero(~vital)
    ours = rng.choice(group, min(len(group), count // 2), replace=False)
    others = rng.choice(rest, min(len(rest), count - len(ours)), replace=False)
    return np.sort(np.concatenate([ours, others]))


def auc(scores: FloatArray, y: BoolArray) -> float:
    """Probability that one of y has a higher score than another record, equals counting half."""
    positive, negative = scores[y], np.sort(scores[~y])
    if not len(positive) or not len(negative):
        return float("nan")
    below = np.searchsorted(negative, positive, side="left")
    beside = np.searchsorted(negative, positive, side="right")
    return float((below + beside).mean() / 2.0 / len(negative))


def precision_at(scores: FloatArray, y: BoolArray, weights: FloatArray, recall: float) -> float:
    """Share of y, by weight, among the records whose scores reach that of the best `recall` of y."""
    best = np.sort(scores[y])[::-1]
    if not len(best):
        return float("nan")
    above = scores >= best[max(0, int(np.ceil(recall * len(best))) - 1)]
    return float(weights[above & y].sum() / weights[above].sum())


def _driving(model: Classifier, codes: Codes, y: BoolArray, rng: np.random.Generator) -> FloatArray:
    some = np.concatenate([rng.permutation(np.flatnonzero(part))[: _PERMUTED // 2] for part in (y, ~y)])
    codes, y = codes[some], y[some]
    whole = auc(model.probabilities(codes), y)
    falls = np.empty(codes.shape[1])
    for at in range(codes.shape[1]):
        mixed = codes.copy()
        mixed[:, at] = rng.permutation(mixed[:, at])
        falls[at] = whole - auc(model.probabilities(mixed), y)
    return falls


def _naive_bayes(categorical: Sequence[bool]) -> Any:
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    ordered = ~np.array(categorical)

    def coarse(codes: Codes) -> Codes:
        """Numbers in fewer bins; the missing value keeps its own."""
        out = codes.copy()
        out[:, ordered] = (codes[:, ordered] + _COARSE - 1) // _COARSE
        return out

    return make_pipeline(FunctionTransformer(coarse), CategoricalNB(min_categories=CODES))


def _boosting(categorical: Sequence[bool], seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=100, max_leaf_nodes=31, early_stopping=False, categorical_features=list(categorical), random_state=seed
    )
