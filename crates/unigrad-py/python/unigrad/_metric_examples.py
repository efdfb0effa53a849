"""An example of each of the metrics that are made from their names: the lines, and what the last one gives. The suite runs them all."""

EXAMPLES = {
    "Accuracy": ("metric = ug.metrics.Accuracy()\nmetric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 0]))\nmetric.compute()", "0.6666666666666666"),
    "ROCAUC": ("metric = ug.metrics.ROCAUC()\nmetric.update(ug.tensor([0.1, 0.4, 0.35, 0.8]), ug.tensor([0, 0, 1, 1]))\nmetric.compute()", "0.75"),
    "PRAUC": ("metric = ug.metrics.PRAUC()\nmetric.update(ug.tensor([0.1, 0.4, 0.35, 0.8]), ug.tensor([1, 0, 0, 1]))\nmetric.compute()", "0.75"),
    "LogLoss": ("metric = ug.metrics.LogLoss()\nmetric.update(ug.zeros(2, 1), ug.tensor([0, 0]))\nmetric.compute()", "0.0"),
    "Perplexity": ("metric = ug.metrics.Perplexity()\nmetric.update(ug.zeros(2, 1), ug.tensor([0, 0]))\nmetric.compute()", "1.0"),
    "MAE": ("metric = ug.metrics.MAE()\nmetric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))\nmetric.compute()", "1.0"),
    "MSE": ("metric = ug.metrics.MSE()\nmetric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))\nmetric.compute()", "2.0"),
    "RMSE": ("metric = ug.metrics.RMSE()\nmetric.update(ug.tensor([1.0, 2.0]), ug.tensor([3.0, 4.0]))\nmetric.compute()", "2.0"),
    "MAPE": ("metric = ug.metrics.MAPE()\nmetric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))\nmetric.compute()", "0.25"),
    "R2Score": ("metric = ug.metrics.R2Score()\nmetric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 2.0]))\nmetric.compute()", "1.0"),
}  # fmt: skip
