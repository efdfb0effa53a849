"""Metrics as scikit-learn computes them: goldens/metrics.json.

    python scripts/golden_metrics.py        # needs numpy and scikit-learn
"""

import json
import os

import numpy as np
from sklearn import metrics as M

rng = np.random.default_rng(7)
scores = np.round(rng.normal(size=(60, 5)), 3).astype(np.float32)
labels = rng.integers(0, 4, 60)  # class 4 is never a label
called = scores.argmax(1)
binary = np.round(rng.normal(size=80), 1).astype(np.float32)  # with equal scores
truth = rng.integers(0, 2, 80)
x, y = np.round(rng.normal(size=70), 3).astype(np.float32), np.round(rng.normal(size=70) + 100, 3).astype(np.float32)
x += 100
logp = scores.astype(np.float64) - np.log(np.exp(scores.astype(np.float64)).sum(1, keepdims=True))
values = {
    "accuracy": M.accuracy_score(labels, called),
    "top_3": M.top_k_accuracy_score(labels, scores, k=3, labels=range(5)),
    "log_loss": -logp[np.arange(60), labels].mean(),
    "perplexity": np.exp(-logp[np.arange(60), labels].mean()),
    "roc_auc": M.roc_auc_score(truth, binary),
    "pr_auc": M.average_precision_score(truth, binary),
    "mae": M.mean_absolute_error(y, x),
    "mse": M.mean_squared_error(y, x),
    "rmse": M.mean_squared_error(y, x) ** 0.5,
    "mape": M.mean_absolute_percentage_error(y, x),
    "r2": M.r2_score(y, x),
}
for name, function in [("precision", M.precision_score), ("recall", M.recall_score), ("f1", M.f1_score), ("iou", M.jaccard_score)]:
    for average in ("macro", "micro", "weighted"):
        values[name if average == "macro" else f"{name}_{average}"] = function(labels, called, average=average, zero_division=0)
    values[f"{name}_2"] = function(labels, called, labels=[2], average="macro", zero_division=0)
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens", "metrics.json")
with open(path, "w") as file:
    json.dump(dict(
        scores=scores.reshape(-1).tolist(), labels=labels.tolist(), binary=binary.tolist(), truth=truth.tolist(), x=x.tolist(), y=y.tolist(),
        confusion=M.confusion_matrix(labels, called, labels=range(5)).reshape(-1).tolist(), values={k: float(v) for k, v in values.items()},
    ), file)
    file.write("\n")
