"""BLEU as sacrebleu computes it, and ROUGE-L as Google's rouge-score: goldens/text_metrics.json.

    python scripts/golden_text_metrics.py        # needs numpy, sacrebleu and rouge-score
"""

import json
import os

import numpy as np
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU

rng = np.random.default_rng(5)


def text(length, n_words):
    return [int(x) for x in rng.integers(0, n_words, length)]


def corpus(n_texts, n_references, n_words, lengths):
    """Candidates that are references with words changed and left out, and some that are something else."""
    texts = []
    for _ in range(n_texts):
        references = [text(rng.integers(*lengths), n_words) for _ in range(n_references)]
        candidate = [int(rng.integers(0, n_words)) if rng.random() < 0.2 else x for x in references[0] if rng.random() < 0.9]
        texts.append([candidate if rng.random() < 0.8 else text(rng.integers(*lengths), n_words), references])
    return texts


SETTINGS = [
    ("none", dict(smooth_method="none")), ("floor", dict(smooth_method="floor", smooth_value=0.1)), ("add_k", dict(smooth_method="add-k", smooth_value=1)),
    ("exp", dict(smooth_method="exp")), ("effective", dict(smooth_method="exp", effective_order=True)),
    ("bigrams", dict(smooth_method="none", max_ngram_order=2)),
]  # fmt: skip


class Words:
    def tokenize(self, text):
        return text.split()


def scores(texts):
    def words(tokens):
        return " ".join(f"w{token}" for token in tokens)

    candidates = [words(candidate) for candidate, _ in texts]
    references = [[words(refs[i]) for _, refs in texts] for i in range(len(texts[0][1]))]
    values = {name: BLEU(tokenize="none", **settings).corpus_score(candidates, references).score / 100 for name, settings in SETTINGS}
    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Words())
    # The reference with the greatest F1, as rouge-score's `score_multi` has it.
    rouge = [scorer.score_multi([words(r) for r in refs], words(candidate))["rougeL"] for candidate, refs in texts]
    for name in ("fmeasure", "precision", "recall"):
        values[name] = float(np.mean([getattr(score, name) for score in rouge]))
    return dict(texts=texts, values=values)


cases = [
    corpus(20, 1, 30, (4, 25)), corpus(15, 3, 8, (1, 12)), corpus(1, 2, 5, (9, 10)),
    # Nothing of some lengths: too short for 4-grams, without 3-grams in common, without anything in common, empty.
    [[[1, 2, 3], [[1, 2, 4]]]], [[[1, 2, 9, 3, 4], [[1, 2, 3, 4, 5]]]], [[[1, 2, 3, 4], [[5, 6, 7, 8]]]], [[[], [[1, 2]]]],
    # Longer than the references, and shorter.
    [[[1, 2, 3, 4, 5, 6, 7], [[1, 2, 3, 4, 5]]], [[1, 2, 3, 4], [[1, 2, 3, 4]]]], [[[1, 2, 3, 4], [[1, 2, 3, 4, 5, 6]]]],
]  # fmt: skip
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens", "text_metrics.json")
with open(path, "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(scores(texts)) for texts in cases) + "\n]\n")
