"""What the crates export, Python reaches: layers, losses, optimizers, schedules, metrics, callbacks."""

import re
from pathlib import Path

import pytest

import unigrad as ug

CRATES = Path(__file__).resolve().parents[3]

# By its name in the crates: its name in Python, where that is another one.
NAMES = {
    "BceLoss": "nn.BCELoss", "BceWithLogitsLoss": "nn.BCEWithLogitsLoss", "CtcLoss": "nn.CTCLoss", "GaussianNllLoss": "nn.GaussianNLLLoss",
    "KlDivLoss": "nn.KLDivLoss", "MseLoss": "nn.MSELoss", "NllLoss": "nn.NLLLoss", "PoissonNllLoss": "nn.PoissonNLLLoss",
    "Asgd": "optim.ASGD", "Lamb": "optim.LAMB", "Lars": "optim.LARS", "Lbfgs": "optim.LBFGS", "RmsProp": "optim.RMSprop", "Sam": "optim.SAM",
    "Sgd": "optim.SGD", "SgdScheduleFree": "optim.SGDScheduleFree", "AveragedModel": "optim.swa_utils.AveragedModel",
    "update_bn": "optim.swa_utils.update_bn", "GradScaler": "amp.GradScaler", "LookaheadRule": "optim.Lookahead",
    "clip_grad_adaptively": "nn.utils.clip_grad_adaptively_", "clip_grad_norm": "nn.utils.clip_grad_norm_",
    "clip_grad_norm_with": "nn.utils.clip_grad_norm_", "clip_grad_value": "nn.utils.clip_grad_value_",
    "grad_norm": "nn.utils.get_total_norm", "Plateau": "optim.lr_scheduler.ReduceLROnPlateau", "Schedule": "optim.lr_scheduler",
    "Confusion": "metrics.ConfusionMatrix", "F1": "metrics.F1Score", "Iou": "metrics.IoU", "Mae": "metrics.MAE", "Mape": "metrics.MAPE",
    "Mse": "metrics.MSE", "PrAuc": "metrics.PRAUC", "R2": "metrics.R2Score", "Rmse": "metrics.RMSE", "RocAuc": "metrics.ROCAUC",
    "TopK": "metrics.TopKAccuracy", "ClassScore": "metrics.F1Score", "Bleu": "metrics.BLEU", "RougeL": "metrics.ROUGEL", "Ema": "train.EMA", "Swa": "train.SWA",
    "BatchNorm": "nn.BatchNorm2d", "InstanceNorm": "nn.InstanceNorm2d", "Relu": "nn.ReLU", "Relu6": "nn.ReLU6", "Selu": "nn.SELU",
    "Silu": "nn.SiLU", "Gelu": "nn.GELU", "GeluTanh": "nn.GELU", "GeGlu": "nn.GEGLU", "SwiGlu": "nn.SwiGLU", "Glu": "nn.GLU", "Elu": "nn.ELU",
    "Celu": "nn.CELU", "LeakyRelu": "nn.LeakyReLU", "PRelu": "nn.PReLU", "RRelu": "nn.RReLU", "Rnn": "nn.RNN", "Lstm": "nn.LSTM",
    "Gru": "nn.GRU", "RnnCell": "nn.RNNCell", "LstmCell": "nn.LSTMCell", "GruCell": "nn.GRUCell", "RmsNorm": "nn.RMSNorm",
    "CrossMapLrn2d": "nn.CrossMapLRN2d", "MultiHeadAttention": "nn.MultiheadAttention", "WeightNorm": "nn.utils.weight_norm",
    "SpectralNorm": "nn.utils.spectral_norm", "LpPool1d": "nn.LPPool1d", "LpPool2d": "nn.LPPool2d", "LpPool3d": "nn.LPPool3d",
    "Archive": "load", "TensorFile": "load", "Checkpoint": "Trainer", "StepProfile": "Run",
}  # fmt: skip

# What has no class in Python, and why.
LEFT_OUT = {
    "Activation": "a name, `activation=`", "AttentionMasks": "keywords of `forward`", "Nonlinearity": "a name, `nonlinearity=`",
    "RecurrentOptions": "keywords of the layers", "TransformerOptions": "keywords of the layers", "Loss": "a function of two tensors",
    "AdjustLr": "a name, `adjust_lr_fn=`", "Climbed": "SAM's second pass is `step(closure)`", "Group": "a dict of `param_groups`",
    "Optimize": "`optim.Optimizer`", "Rule": "a rule of one's own is written in Rust, or as a loop over `.grad`", "StepNumbers": "of rules",
    "ArrayOptimizer": "optimizers of plain slices, for programs without tensors", "Values": "of ArrayOptimizer", "View": "of ArrayOptimizer",
    "ValuesMut": "of ArrayOptimizer", "ViewMut": "of ArrayOptimizer", "ScalerOptions": "keywords of GradScaler", "Anneal": "a name",
    "Better": "a name, `mode=`", "Peaks": "a name, `mode=`", "Error": "`unigrad.Error`", "Result": "exceptions", "NotFinite": "NotFiniteError",
    "StateDictMismatch": "StateDictError", "Format": "told by the content", "Rename": "a dict comprehension over a `state_dict`",
    "HostTensor": "a tensor on the CPU", "LoadOptions": "keywords of `load_state_dict`", "LoadReport": "what `load_state_dict` returns",
    "Part": "the derive's", "Visitor": "`named_parameters`", "VisitorMut": "`apply`", "Average": "a name, `average=`", "Score": "classes", "Smoothing": "of Bleu",
    "AveragePrecision": "a dict", "Detections": "tensors", "Objects": "tensors", "Metric": "`metrics.Metric`", "Layer": "`nn.Module`",
    "optimize_types": "of a macro", "blocks_of": "of checkpointing", "checkpointed": "`unigrad.checkpoint`",
    "checkpointed_by": "`unigrad.checkpoint`", "gradient_checkpointing": "`Trainer(gradient_checkpointing=)`", "is_checkpointing": "of checkpointing",
    "first_not_finite": "the trainer's errors tell it", "name_layer": "of traces", "observe": "of traces",
}  # fmt: skip
PLACES = ["nn", "optim", "metrics", "train", "amp", "nn.utils"]


def exported(path, block):
    """The names of a `pub use` of a file."""
    text = re.sub(r"//.*", "", (CRATES / path).read_text())
    names = re.findall(rf"pub use {block}::(?:\{{([^}}]*)\}}|(\w+|\*));", text)
    found = [name.strip().split(" as ")[-1] for many, one in names for name in (many or one).split(",") if name.strip()]
    return [name for name in found if name not in ("self", "*")]


def all_exported():
    root = "unigrad-nn/src/lib.rs"
    for block in ("optim", "losses", "schedule", "archive", "checkpoint", "error", "formats", "metrics", "module", "trace"):
        yield from exported(root, block)
    layers = (CRATES / "unigrad-nn/src/layers/mod.rs").read_text()
    for block in re.findall(r"^pub use (\w+)::", layers, re.M):
        yield from exported("unigrad-nn/src/layers/mod.rs", block)
    metrics = (CRATES / "unigrad-nn/src/metrics/mod.rs").read_text()
    for block in re.findall(r"^pub use (\w+)::", metrics, re.M):
        yield from exported("unigrad-nn/src/metrics/mod.rs", block)
    yield from exported("unigrad-train/src/lib.rs", "callbacks")


def reach(path):
    value = ug
    for part in path.split("."):
        value = getattr(value, part)
    return value


def test_the_crates_are_there():
    if not (CRATES / "unigrad-nn/src/lib.rs").exists():
        pytest.skip("the crates' sources are not beside the package")
    names = set(all_exported())
    assert len(names) > 200 and {"Linear", "AdamW", "CrossEntropyLoss", "Plateau", "Accuracy", "EarlyStopping"} <= names


def test_python_reaches_what_the_crates_export():
    if not (CRATES / "unigrad-nn/src/lib.rs").exists():
        pytest.skip("the crates' sources are not beside the package")
    missing = []
    for name in sorted(set(all_exported())):
        if name in LEFT_OUT or (name.endswith("Rule") and name not in NAMES) or name in ("Scalar", "read_scalars", "Module"):
            continue
        if name in NAMES:
            reach(NAMES[name])
        elif not any(hasattr(reach(place), name) for place in PLACES):
            missing.append(name)
    assert not missing, f"neither reached nor left out for a reason: {missing}"
    known = set(all_exported())
    gone = [name for name in [*NAMES, *LEFT_OUT] if name not in known and name not in ("F1", "Iou", "StepProfile", "Metric", "Layer")]
    assert not gone, f"named here and no longer exported: {gone}"
