"""scikit-learn's metrics and scalers that support the array API standard, on tensors. With scikit-learn and SciPy installed."""

import os

# SciPy reads it when it is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

import unigrad as ug

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed here")


@pytest.fixture(autouse=True)
def dispatch():
    if os.environ["SCIPY_ARRAY_API"] != "1":
        pytest.skip("SCIPY_ARRAY_API is not 1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


RNG = np.random.default_rng(0)
TRUE, FOUND = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50)
Y, P = RNG.normal(size=50).astype(np.float32), RNG.normal(size=50).astype(np.float32)
A, B = RNG.uniform(0.1, 1, (20, 4)).astype(np.float32), RNG.uniform(0.1, 1, (15, 4)).astype(np.float32)

CHANCE, YES = RNG.uniform(0.01, 0.99, 50).astype(np.float32), RNG.integers(0, 2, 50)
CHANCES = (CHANCE[:, None] * RNG.uniform(0.1, 1, (1, 3))).astype(np.float32)
CHANCES /= CHANCES.sum(axis=1, keepdims=True)
LABELS, GUESSED = RNG.integers(0, 2, (20, 4)), RNG.integers(0, 2, (20, 4))

METRICS = [
    ("hamming_loss", (TRUE, FOUND), {}),
    ("hamming_loss", (LABELS, GUESSED), {}),
    ("log_loss", (YES, CHANCE), {}),
    ("log_loss", (TRUE, CHANCES), {}),
    ("brier_score_loss", (YES, CHANCE), {}),
    ("d2_brier_score", (YES, CHANCE), {}),
    ("d2_log_loss_score", (TRUE, CHANCES), {}),
    ("mean_gamma_deviance", (abs(Y) + 0.1, abs(P) + 0.1), {}),
    ("d2_absolute_error_score", (Y, P), {}),
    ("d2_pinball_score", (Y, P), {}),
    ("multilabel_confusion_matrix", (LABELS, GUESSED), {}),
    ("multilabel_confusion_matrix", (TRUE, FOUND), {}),
    ("precision_recall_curve", (YES, CHANCE), {}),
    ("roc_curve", (YES, CHANCE), {}),
    ("det_curve", (YES, CHANCE), {}),
    ("precision_recall_fscore_support", (TRUE, FOUND), {}),
    ("precision_recall_fscore_support", (TRUE, FOUND), {"average": "macro"}),
    ("root_mean_squared_log_error", (abs(Y), abs(P)), {}),
    ("pairwise.laplacian_kernel", (A, B), {}),
    ("pairwise.manhattan_distances", (A, B), {}),
    ("pairwise.paired_manhattan_distances", (A, A + 1), {}),
    ("pairwise.pairwise_distances", (A, B), {}),
    ("pairwise.pairwise_kernels", (A, B), {"metric": "rbf"}),
    ("accuracy_score", (TRUE, FOUND), {}),
    ("zero_one_loss", (TRUE, FOUND), {}),
    # Without `balanced_accuracy_score`: it takes a diagonal by the extension `linalg`.
    ("confusion_matrix", (TRUE, FOUND), {}),
    ("f1_score", (TRUE, FOUND), {"average": "macro"}),
    ("precision_score", (TRUE, FOUND), {"average": "macro"}),
    ("recall_score", (TRUE, FOUND), {"average": "micro"}),
    ("jaccard_score", (TRUE, FOUND), {"average": "weighted"}),
    ("fbeta_score", (TRUE, FOUND), {"average": "macro", "beta": 0.5}),
    ("mean_squared_error", (Y, P), {}),
    ("root_mean_squared_error", (Y, P), {}),
    ("mean_absolute_error", (Y, P), {}),
    ("max_error", (Y, P), {}),
    ("mean_absolute_percentage_error", (Y, P), {}),
    ("mean_squared_log_error", (abs(Y), abs(P)), {}),
    ("explained_variance_score", (Y, P), {}),
    ("r2_score", (Y, P), {}),
    ("mean_pinball_loss", (Y, P), {}),
    ("median_absolute_error", (Y, P), {}),
    ("mean_tweedie_deviance", (Y, P), {}),
    ("mean_poisson_deviance", (abs(Y), abs(P) + 0.1), {}),
    ("d2_tweedie_score", (Y, P), {}),
    ("pairwise.euclidean_distances", (A, B), {}),
    ("pairwise.cosine_similarity", (A, B), {}),
    ("pairwise.cosine_distances", (A, B), {}),
    ("pairwise.linear_kernel", (A, B), {}),
    ("pairwise.polynomial_kernel", (A, B), {}),
    ("pairwise.rbf_kernel", (A, B), {}),
    ("pairwise.sigmoid_kernel", (A, B), {}),
    ("pairwise.chi2_kernel", (A, B), {}),
    ("pairwise.additive_chi2_kernel", (A, B), {}),
    ("pairwise.paired_cosine_distances", (A, A + 1), {}),
    ("pairwise.paired_euclidean_distances", (A, A + 1), {}),
]


@pytest.mark.parametrize("name, arrays, settings", METRICS, ids=[name for name, *_ in METRICS])
def test_metrics(name, arrays, settings):
    """The same values, and an array where scikit-learn has an array (or several, or `None` among them)."""
    import sklearn.metrics

    metric = sklearn.metrics
    for part in name.split("."):
        metric = getattr(metric, part)
    expected = metric(*arrays, **settings)
    got = metric(*(ug.tensor(x) for x in arrays), **settings)
    several = isinstance(expected, tuple)
    assert not several or len(got) == len(expected)
    for own, wanted in zip(got, expected) if several else [(got, expected)]:
        if wanted is None:
            assert own is None
            continue
        assert isinstance(own, ug.Tensor) or not np.ndim(wanted)
        np.testing.assert_allclose(np.asarray(own), wanted, rtol=2e-4, atol=1e-5)


SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "Binarizer", "KernelCenterer"]


@pytest.mark.parametrize("name", SCALERS)
def test_scalers(name):
    import sklearn.preprocessing

    x = (A[:, :4] @ A[:, :4].T).astype(np.float32) if name == "KernelCenterer" else A
    theirs, ours = (getattr(sklearn.preprocessing, name)() for _ in range(2))
    expected = theirs.fit_transform(x)
    got = ours.fit(ug.tensor(x)).transform(ug.tensor(x))
    assert isinstance(got, ug.Tensor)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-5)
    if hasattr(theirs, "inverse_transform"):
        np.testing.assert_allclose(np.asarray(ours.inverse_transform(got)), x, rtol=1e-4, atol=1e-5)
