"""The update rules: made from a table of PyTorch's names and defaults, and the native names of settings where they differ."""

from inspect import Parameter as Argument
from inspect import Signature

from .. import _check
from .._errors import ArgumentError
from .optimizer import Optimizer

# What PyTorch has and makes no difference here: there is one, fused, differentiable way.
_IGNORED = ("foreach", "capturable", "differentiable", "fused")


def _betas_lbfgs(value):
    if value is not None and value != "strong_wolfe":
        raise ArgumentError(f"argument 'line_search_fn' is {value!r}\n help: use \"strong_wolfe\" or None")
    return {"strong_wolfe": value is not None}


def _max_eval(value):
    return {"max_eval": 0 if value is None else _check.positive("max_eval", value)}


def _adafactor_eps(value):
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"argument 'eps': two numbers are wanted, not {_check._kind(value)}")
    eps1, eps2 = value
    return {"eps1": 0.0 if eps1 is None else _check.number("eps", eps1, 0.0), "eps2": _check.number("eps", eps2, 0.0)}


def _ns_steps(value):
    value = _check.positive("ns_steps", value)
    if value > 100:
        raise ArgumentError(f"argument 'ns_steps' is {value}\n help: use at most 100; 5 are usual")
    return {"iterations": value}


def _adjust(value):
    names = {None: "original", "original": "original", "match_rms_adamw": "match_rms_adamw", "spectral_unclamped": "spectral_unclamped"}
    if value not in names:
        raise ArgumentError(f'argument \'adjust_lr_fn\' is {value!r}\n help: use "original" or "match_rms_adamw"')
    return {"adjust_lr": names[value]}


# Class, native rule, settings with defaults in PyTorch's order, native names that differ, what it is.
_TABLE = [
    ("SGD", "sgd", {"lr": 1e-3, "momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False}, {}, "Stochastic gradient descent."),
    (
        "Adam",
        "adam",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False},
        {},
        "Adam (Kingma and Ba, 2015).",
    ),
    (
        "AdamW",
        "adamw",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2, "amsgrad": False},
        {},
        "Adam with decoupled weight decay (Loshchilov and Hutter, 2019).",
    ),
    (
        "NAdam",
        "nadam",
        {
            "lr": 2e-3,
            "betas": (0.9, 0.999),
            "eps": 1e-8,
            "weight_decay": 0,
            "momentum_decay": 4e-3,
            "decoupled_weight_decay": False,
        },
        {"decoupled_weight_decay": "decoupled"},
        "Adam with Nesterov's momentum (Dozat, 2016).",
    ),
    (
        "RAdam",
        "radam",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "decoupled_weight_decay": False},
        {"decoupled_weight_decay": "decoupled"},
        "Rectified Adam (Liu et al., 2020).",
    ),
    ("Adamax", "adamax", {"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}, {}, "Adam with the greatest gradient."),
    (
        "Adagrad",
        "adagrad",
        {"lr": 1e-2, "lr_decay": 0, "weight_decay": 0, "initial_accumulator_value": 0, "eps": 1e-10},
        {"initial_accumulator_value": "initial_accumulator"},
        "Adagrad (Duchi et al., 2011).",
    ),
    ("Adadelta", "adadelta", {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0}, {}, "Adadelta (Zeiler, 2012)."),
    (
        "RMSprop",
        "rmsprop",
        {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0, "centered": False},
        {},
        "RMSprop (Hinton, 2012).",
    ),
    ("Rprop", "rprop", {"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50)}, {}, "Resilient backpropagation; for whole batches."),
    (
        "ASGD",
        "asgd",
        {"lr": 1e-2, "lambd": 1e-4, "alpha": 0.75, "t0": 1e6, "weight_decay": 0},
        {"lambd": "lambda"},
        "Averaged stochastic gradient descent (Polyak and Juditsky, 1992).",
    ),
    (
        "SparseAdam",
        "sparse_adam",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8},
        {},
        "Adam that leaves rows without a gradient as they are.",
    ),
    (
        "LBFGS",
        "lbfgs",
        {
            "lr": 1,
            "max_iter": 20,
            "max_eval": None,
            "tolerance_grad": 1e-7,
            "tolerance_change": 1e-9,
            "history_size": 100,
            "line_search_fn": None,
        },
        {"max_eval": _max_eval, "line_search_fn": _betas_lbfgs},
        "L-BFGS (Liu and Nocedal, 1989): ``step(closure)`` evaluates the loss several times; for whole batches.",
    ),
    (
        "Adafactor",
        "adafactor",
        {"lr": 1e-2, "beta2_decay": -0.8, "eps": (None, 1e-3), "d": 1.0, "weight_decay": 0},
        {"eps": _adafactor_eps},
        "Second moments of a matrix as a row and a column (Shazeer and Stern, 2018).",
    ),
    (
        "Muon",
        "muon",
        {
            "lr": 1e-3,
            "weight_decay": 0.1,
            "momentum": 0.95,
            "nesterov": True,
            "ns_coefficients": (3.4445, -4.775, 2.0315),
            "eps": 1e-7,
            "ns_steps": 5,
            "adjust_lr_fn": None,
            "precision": "bf16",
        },
        {"ns_coefficients": "coefficients", "ns_steps": _ns_steps, "adjust_lr_fn": _adjust},
        "Orthogonal steps for the matrices of hidden layers (Jordan, 2024): give it those alone.",
    ),
    ("Lion", "lion", {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0}, {}, "Steps by the sign of the momentum (Chen et al., 2023)."),
    (
        "Adan",
        "adan",
        {"lr": 1e-3, "betas": (0.98, 0.92, 0.99), "eps": 1e-8, "weight_decay": 0, "no_prox": False},
        {},
        "Adaptive Nesterov momentum (Xie et al., 2022).",
    ),
    (
        "LARS",
        "lars",
        {"lr": 0.1, "momentum": 0.9, "trust_coefficient": 1e-3, "weight_decay": 0, "adapts_vectors": False},
        {"trust_coefficient": "trust"},
        "Momentum with a step for each tensor that is a share of its norm (You et al., 2017).",
    ),
    (
        "LAMB",
        "lamb",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 1e-2, "bias_correction": True},
        {},
        "Adam's step for each tensor, scaled to the tensor's norm (You et al., 2019).",
    ),
    (
        "Sophia",
        "sophia",
        {"lr": 1e-4, "betas": (0.965, 0.99), "rho": 0.04, "weight_decay": 0.1},
        {},
        "Steps by an estimate of the Hessian's diagonal (Liu et al., 2023), which ``update_hessian`` renews.",
    ),
    (
        "Shampoo",
        "shampoo",
        {"lr": 1e-2, "momentum": 0, "weight_decay": 0, "eps": 1e-4, "max_side": 1024},
        {},
        "Preconditioned steps for each axis of a parameter (Gupta et al., 2018).",
    ),
    (
        "AdamWScheduleFree",
        "adamw_schedule_free",
        {
            "lr": 2.5e-3,
            "betas": (0.9, 0.999),
            "eps": 1e-8,
            "weight_decay": 0,
            "warmup_steps": 0,
            "r": 0.0,
            "weight_lr_power": 2.0,
        },
        {"weight_lr_power": "lr_power"},
        "AdamW without a schedule (Defazio et al., 2024): call ``eval()`` before validation, ``train()`` after.",
    ),
    (
        "SGDScheduleFree",
        "sgd_schedule_free",
        {"lr": 1.0, "momentum": 0.9, "weight_decay": 0, "warmup_steps": 0, "r": 0.0, "weight_lr_power": 2.0},
        {"weight_lr_power": "lr_power"},
        "SGD without a schedule (Defazio et al., 2024): call ``eval()`` before validation, ``train()`` after.",
    ),
    (
        "AdamW8bit",
        "adamw8bit",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2, "min_8bit_size": 4096},
        {"min_8bit_size": "least_size"},
        "AdamW whose moments take 8 bits a value (Dettmers et al., 2021).",
    ),
]

__all__ = [row[0] for row in _TABLE]


def _update_hessian(self, loss, hutchinson=True):
    """Renews the estimate, every few steps: by the gradient of the gradient of ``loss``; or with ``hutchinson=False`` by the squares of the gradients of a
    loss whose labels are drawn from the model's own distribution.
    """
    self._update_settings()
    self._inner.update_hessian(_check.tensor("loss", loss), bool(hutchinson))


def _train(self):
    """The parameters are those of training again."""
    self._inner.set_training(True)


def _eval(self):
    """The parameters are the averages, for use; a step is an error then."""
    self._inner.set_training(False)


def _optimizer(name, rule, defaults, native, doc):
    arguments = [Argument(own, Argument.POSITIONAL_OR_KEYWORD, default=default) for own, default in defaults.items()]
    arguments += [Argument("maximize", Argument.KEYWORD_ONLY, default=False)]
    arguments += [Argument(own, Argument.KEYWORD_ONLY, default=None) for own in _IGNORED]
    if rule == "adam":
        arguments += [Argument("decoupled_weight_decay", Argument.KEYWORD_ONLY, default=False)]
    params = Argument("params", Argument.POSITIONAL_OR_KEYWORD)
    signature = Signature([params, *arguments])

    def __init__(self, *args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        settings = {own: given[own] for own in defaults}
        settings["maximize"] = _check.flag("maximize", given["maximize"])
        if rule == "adam":
            settings["decoupled_weight_decay"] = _check.flag("decoupled_weight_decay", given["decoupled_weight_decay"])
        elif rule == "adamw":
            # PyTorch's name of the difference, in its states.
            settings["decoupled_weight_decay"] = True
        Optimizer.__init__(self, given["params"], settings)

    __init__.__signature__ = Signature([Argument("self", Argument.POSITIONAL_OR_KEYWORD), params, *arguments])
    members = {"__init__": __init__, "__doc__": doc, "__module__": __name__, "_rule": rule, "_defaults": defaults, "_native": native}
    if rule == "sophia":
        members["update_hessian"] = _update_hessian
    if rule.endswith("schedule_free"):
        members["train"], members["eval"] = _train, _eval
    made = type(name, (Optimizer,), members)
    made.__signature__ = signature
    return made


for _row in _TABLE:
    globals()[_row[0]] = _optimizer(*_row)
