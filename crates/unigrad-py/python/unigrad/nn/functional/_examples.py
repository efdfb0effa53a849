"""An example of each of the functions that are made for each number of axes: the lines, and what the last one gives. The suite runs them all."""

EXAMPLES = {
    **{
        f"{name}_": (f"ug.nn.functional.{name}_(ug.tensor([2.0, 3.0]){more})", "tensor([1., 1.])" if name == "hardtanh" else "tensor([2., 3.])")
        for name, more in {"celu": "", "elu": "", "hardtanh": "", "leaky_relu": "", "relu": "", "rrelu": "", "threshold": ", 0.5, 0.0"}.items()
    },
    "selu_": ("ug.nn.functional.selu_(ug.tensor([0.0, 1.0]))", "tensor([0.0000, 1.0507])"),
    "adaptive_avg_pool1d": ("ug.nn.functional.adaptive_avg_pool1d(ug.zeros(1, 3, 8), 2).shape", "(1, 3, 2)"),
    "adaptive_avg_pool2d": ("ug.nn.functional.adaptive_avg_pool2d(ug.zeros(1, 3, 8, 8), 2).shape", "(1, 3, 2, 2)"),
    "adaptive_avg_pool3d": ("ug.nn.functional.adaptive_avg_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape", "(1, 3, 2, 2, 2)"),
    "adaptive_max_pool1d": ("ug.nn.functional.adaptive_max_pool1d(ug.zeros(1, 3, 8), 2).shape", "(1, 3, 2)"),
    "adaptive_max_pool2d": ("ug.nn.functional.adaptive_max_pool2d(ug.zeros(1, 3, 8, 8), 2).shape", "(1, 3, 2, 2)"),
    "adaptive_max_pool3d": ("ug.nn.functional.adaptive_max_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape", "(1, 3, 2, 2, 2)"),
    "avg_pool1d": ("ug.nn.functional.avg_pool1d(ug.zeros(1, 3, 8), 2).shape", "(1, 3, 4)"),
    "avg_pool2d": ("ug.nn.functional.avg_pool2d(ug.zeros(1, 3, 8, 8), 2).shape", "(1, 3, 4, 4)"),
    "avg_pool3d": ("ug.nn.functional.avg_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape", "(1, 3, 4, 4, 4)"),
    "max_pool1d": ("ug.nn.functional.max_pool1d(ug.zeros(1, 3, 8), 2).shape", "(1, 3, 4)"),
    "max_pool2d": ("ug.nn.functional.max_pool2d(ug.zeros(1, 3, 8, 8), 2).shape", "(1, 3, 4, 4)"),
    "max_pool3d": ("ug.nn.functional.max_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape", "(1, 3, 4, 4, 4)"),
    "max_unpool1d": ("pooled, where = ug.nn.functional.max_pool1d(ug.rand(1, 3, 8), 2, return_indices=True)\nug.nn.functional.max_unpool1d(pooled, where, 2).shape", "(1, 3, 8)"),
    "max_unpool2d": ("pooled, where = ug.nn.functional.max_pool2d(ug.rand(1, 3, 8, 8), 2, return_indices=True)\nug.nn.functional.max_unpool2d(pooled, where, 2).shape", "(1, 3, 8, 8)"),
    "max_unpool3d": ("pooled, where = ug.nn.functional.max_pool3d(ug.rand(1, 3, 8, 8, 8), 2, return_indices=True)\nug.nn.functional.max_unpool3d(pooled, where, 2).shape", "(1, 3, 8, 8, 8)"),
    "lp_pool1d": ("ug.nn.functional.lp_pool1d(ug.ones(1, 3, 8), 2.0, 2).shape", "(1, 3, 4)"),
    "lp_pool2d": ("ug.nn.functional.lp_pool2d(ug.ones(1, 3, 8, 8), 2.0, 2).shape", "(1, 3, 4, 4)"),
    "lp_pool3d": ("ug.nn.functional.lp_pool3d(ug.ones(1, 3, 8, 8, 8), 2.0, 2).shape", "(1, 3, 4, 4, 4)"),
    "dropout1d": ("ug.nn.functional.dropout1d(ug.ones(1, 2, 2), training=False).sum().item()", "4.0"),
    "dropout2d": ("ug.nn.functional.dropout2d(ug.ones(1, 2, 2, 2), training=False).sum().item()", "8.0"),
    "dropout3d": ("ug.nn.functional.dropout3d(ug.ones(1, 2, 2, 2, 2), training=False).sum().item()", "16.0"),
    "alpha_dropout": ("ug.nn.functional.alpha_dropout(ug.ones(2), training=False)", "tensor([1., 1.])"),
    "feature_alpha_dropout": ("ug.nn.functional.feature_alpha_dropout(ug.ones(1, 2, 3), training=False).shape", "(1, 2, 3)"),
    "dropout": ("ug.nn.functional.dropout(ug.ones(2), p=0.5, training=False)", "tensor([1., 1.])"),
}  # fmt: skip
