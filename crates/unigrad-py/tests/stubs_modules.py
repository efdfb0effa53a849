"""Stubs of the package's Python modules: `nn`, `optim`, `data` and the others, for `stubs.py`.

In: the modules as they are when they are imported, so that classes which are made by functions are there too. Out: the text of a `.pyi` for each.
Always: a parameter's type is what its annotation says, or what its name means throughout the package (`NAMES`), or its default's; a class has every public method
and attribute that its instances get. A method `forward` is what calling the object does.
Never: guesses: what none of these tells is `Any`.
"""

import ast
import importlib
import inspect
import textwrap
import typing

import unigrad

MODULES = [
    "_torch_names", "_torch_names.arithmetic", "_torch_names.creation", "_torch_names.dtypes", "_torch_names.in_place", "_torch_names.indexing", "_torch_names.reductions",
    "_torch_names.shapes",
    "array_api", "array_api._creation", "array_api._dtypes", "array_api._elementwise", "array_api._info", "array_api._linear", "array_api._manipulation",
    "array_api._searching", "array_api._statistical",
    "amp", "autograd", "data", "data.datasets", "data.images", "data.loader", "data.samplers",
    "data.sequences", "data.splits", "data.transforms", "func", "metrics", "network", "profile", "torch", "train",
    "nn", "nn.activations", "nn.attention", "nn.containers", "nn.functional", "nn.functional.activations", "nn.functional.attention",
    "nn.functional.layers", "nn.functional.losses", "nn.functional.norms", "nn.functional.shapes", "nn.functional.windows", "nn.init",
    "nn.layers", "nn.lazy", "nn.losses", "nn.memory", "nn.models", "nn.models.gpt", "nn.models.images", "nn.models.sampling", "nn.module", "nn.norms", "nn.parameter", "nn.recurrent", "nn.shapes", "nn.utils", "nn.windows",
    "optim", "optim.lr_scheduler", "optim.lr_scheduler.cycles", "optim.lr_scheduler.plateau", "optim.lr_scheduler.rates", "optim.lr_scheduler.scheduler",
    "optim.lr_scheduler.several", "optim.optimizer", "optim.rules", "optim.swa_utils", "optim.wrappers",
]  # fmt: skip

SIZES = "builtins.int | Sequence[builtins.int]"


def _each(type_, names):
    return dict.fromkeys(names.split(), type_)


# What names mean in every signature that has them without a default, or with None.
NAMES = {
    **_each(
        "Tensor",
        "x input input1 input2 x1 x2 query key anchor positive negative target weight log_probs loss logits grid theta running_mean running_var indices positions src tgt "
        "memory attn_mask mask key_padding_mask src_mask tgt_mask memory_mask src_key_padding_mask tgt_key_padding_mask memory_key_padding_mask pos_weight offsets "
        "per_sample_weights prediction inputs var tensor param vec boxes1 boxes2 masks1 masks2 boxes scores labels true_boxes true_labels",
    ),
    **_each(
        "builtins.int",
        "in_features out_features in1_features in2_features in_channels out_channels num_embeddings embedding_dim embed_dim num_heads num_channels num_groups hidden_size "
        "input_size num_classes padding_idx kdim vdim upscale_factor downscale_factor groups epoch epochs seed max_epochs max_steps accumulate batch_size num_samples "
        "T_0 T_max step_size total_steps decay_steps stable_steps warmup_steps longest step_size_down steps_per_epoch checkpoint_every read_every activation_limit max_eval",
    ),
    **_each(
        "builtins.float",
        "max_norm clip_norm clip_value time_limit norm_type gamma swa_lr divisor_override scale lr weight_decay momentum dampening lr_decay initial_accumulator_value "
        "threshold value val eps",
    ),
    **_each("builtins.bool", "reduce size_average foreach fused capturable differentiable align_corners is_causal src_is_causal tgt_is_causal use_reentrant shuffle"),
    **_each(SIZES, "kernel_size stride dilation output_size output_padding normalized_shape size unflattened_size lengths"),
    "padding": SIZES,
    "scale_factor": "builtins.float | Sequence[builtins.float]",
    "device": "Device | builtins.str",
    "out": "Tensor",
    "layout": "Layout | builtins.str",
    "memory_format": "MemoryFormat | builtins.str",
    "dtype": "DType | builtins.str | builtins.type",
    "new_scale": "builtins.float | Tensor",
    "input_lengths": "Tensor | Sequence[builtins.int]",
    "target_lengths": "Tensor | Sequence[builtins.int]",
    "params": "Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]]",
    "param_group": "builtins.dict[builtins.str, Any]",
    "defaults": "builtins.dict[builtins.str, Any]",
    "closure": "Callable[[], Tensor]",
    "optimizer": "_Optimizer",
    "module": "_Module",
    "model": "_Module",
    "name": "builtins.str",
    "prefix": "builtins.str",
    "state_dict": "Mapping[builtins.str, Any]",
    "path": "builtins.str | PathLike[builtins.str]",
    "folder": "builtins.str | PathLike[builtins.str]",
    "title": "builtins.str",
    "milestones": "Sequence[builtins.int]",
    "hook": "Callable[..., Any]",
    **_each("Callable[..., Any]", "func function fn forward collate_fn avg_fn multi_avg_fn scale_fn worker_init_fn distance_function"),
}  # fmt: skip
# Integer defaults of what is a number.
FLOATS = "lr weight_decay momentum dampening lr_decay initial_accumulator_value p k init clip_value".split()

# What a parameter is in one place.
PLACES = {
    **{f"{name}.padding": f"{SIZES} | builtins.str" for name in "Conv1d Conv2d Conv3d conv1d conv2d conv3d".split()},
    "Trainer.loss": "Callable[..., Any] | None",
    "Network.loss": "Any",
    "ModuleList.modules": "Iterable[_Module] | None",
    "MultiheadAttention.value": "Tensor",
    "scaled_dot_product_attention.value": "Tensor",
    "clip_grad_norm_.parameters": "Tensor | Iterable[Tensor]",
    "clip_grad_value_.parameters": "Tensor | Iterable[Tensor]",
    "grad.func": "Callable[..., Any]",
    **_each("builtins.int", "GPTConfig.vocab GPTConfig.ctx GPTConfig.layers GPTConfig.heads GPTConfig.dim GPTBlock.dim GPTBlock.heads CNN.height CNN.width CNN.n_classes GPT.count"),
    **_each("builtins.int", "Estimate.parameters Estimate.buffers Estimate.optimizer Estimate.gradients Estimate.activations"),
    **_each("Tensor", "GPT.tokens GPT.targets"),
    "GPT.config": "GPTConfig",
    "GPT.prompt": "Sequence[builtins.int] | Tensor",
    **_each("builtins.int | None", "GPT.top_k Sampling.top_k"),
    **_each("builtins.float | None", "GPT.top_p Sampling.top_p"),
    "MLP.sizes": "Sequence[builtins.int]",
    "Sampling.logits": "Tensor | Sequence[builtins.float]",
    "weight_norm.dim": "builtins.int | None",
    "LambdaLR.lr_lambda": "Callable[[builtins.int], builtins.float] | Sequence[Callable[[builtins.int], builtins.float]]",
}

# What calls give, by class and method, or by the method's name in every class of a module; else `Any`.
RESULTS = {
    "Module.parameters": "Iterator[_Parameter]",
    "Module.named_parameters": "Iterator[builtins.tuple[builtins.str, _Parameter]]",
    "Module.buffers": "Iterator[Tensor]",
    "Module.named_buffers": "Iterator[builtins.tuple[builtins.str, Tensor]]",
    "Module.children": "Iterator[_Module]",
    "Module.named_children": "Iterator[builtins.tuple[builtins.str, _Module]]",
    "Module.modules": "Iterator[_Module]",
    "Module.named_modules": "Iterator[builtins.tuple[builtins.str, _Module]]",
    "Module.state_dict": "builtins.dict[builtins.str, Any]",
    **{f"Module.{name}": "Self" for name in "train eval to cpu cuda float double half bfloat16 requires_grad_ apply realize".split()},
    **{f"Module.{name}": "None" for name in "zero_grad register_parameter register_buffer register_module add_module".split()},
    "Optimizer.step": "Tensor | None",
    "Optimizer.state_dict": "builtins.dict[builtins.str, Any]",
    **{f"Optimizer.{name}": "None" for name in "zero_grad minimize add_param_group load_state_dict".split()},
    "LRScheduler.step": "None",
    "LRScheduler.get_last_lr": "builtins.list[builtins.float]",
    "LRScheduler.state_dict": "builtins.dict[builtins.str, Any]",
    "GradScaler.scale": "Tensor",
    "GradScaler.get_scale": "builtins.float",
    "Trainer.fit": "Run",
    "GPT.loss": "Tensor",
    "GPT.sample": "builtins.list[builtins.int]",
    "Sampling.choose": "builtins.int",
    "estimate": "Estimate",
    "Estimate.share": "builtins.float | None",
    "Estimate.check": "None",
    "DataLoader.__iter__": "Iterator[Any]",
    "clip_grad_norm_": "Tensor",
    "box_iou": "Tensor",
    "mask_iou": "Tensor",
    "bleu": "builtins.float",
    "rouge_l": "builtins.float",
    "one_hot": "Tensor",
    "__len__": "builtins.int",
    "__repr__": "builtins.str",
    "__init__": "None",
    "__enter__": "Self",
    "__exit__": "None",
    "__setattr__": "None",
    "__delattr__": "None",
    "__setitem__": "None",
    "__contains__": "builtins.bool",
    "__iter__": "Iterator[Any]",
    "__dir__": "Iterable[builtins.str]",
}
# Layers and functions that give more than one tensor, or one or more by a setting.
SEVERAL = {
    "GRU", "LSTM", "RNN", "RNNBase", "LSTMCell", "MultiheadAttention", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "Identity", "Residual", "Sequential", "Module", "ModuleList",
    "ModuleDict", "broadcast_arrays", "meshgrid", "nonzero", "unique_all", "unique_counts", "unique_inverse", "unstack", "calculate_gain", "multi_head_attention_forward",
}  # fmt: skip

# What those of PyTorch's names give that give no single tensor; `Any` where it is said nowhere.
OTHER_NAMES = {
    "atleast_1d": "Any", "atleast_2d": "Any", "atleast_3d": "Any", "type": "Any", "stride": "Any",
    **_each("builtins.tuple[Tensor, ...]", "hsplit vsplit dsplit broadcast_tensors std_mean var_mean"),
    **_each("builtins.bool", "allclose equal is_floating_point is_complex is_contiguous is_nonzero is_same_size can_cast"),
    **_each("builtins.int", "element_size ndimension nelement"),
    **_each("DType", "promote_types result_type"),
    "broadcast_shapes": "builtins.tuple[builtins.int, ...]",
}  # fmt: skip
RESULTS |= OTHER_NAMES


def function(function):
    """A function of Python as a definition."""
    return _function(function.__module__, [], function.__name__, function, function.__name__)


def method(function):
    """A function of Python that is a method of tensors, as a definition in their class."""
    return _function(function.__module__, ["Tensor"], function.__name__, function, function.__name__)


HEADER = [
    "import builtins",
    "from collections import OrderedDict as OrderedDict",
    "from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence",
    "from os import PathLike",
    "from types import TracebackType",
    "from typing import Any",
    "from typing_extensions import Self",
    "",
    "from unigrad._unigrad import Device as Device",
    "from unigrad._unigrad import DType as DType",
    "from unigrad._unigrad import Layout as Layout",
    "from unigrad._unigrad import MemoryFormat as MemoryFormat",
    "from unigrad._unigrad import Tensor as Tensor",
    "from unigrad.nn.module import Module as _Module",
    "from unigrad.nn.parameter import Parameter as _Parameter",
    "from unigrad.optim.optimizer import Optimizer as _Optimizer",
]

# What a header imports only where it is used.
RARE = ("Layout", "MemoryFormat")


def _type(where, parameter):
    """The type of a parameter."""
    name, default = parameter.name, parameter.default
    if isinstance(parameter.annotation, str):
        return parameter.annotation
    if f"{where}.{name}" in PLACES:
        return PLACES[f"{where}.{name}"]
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "Any"
    known = NAMES.get(name)
    if default is parameter.empty:
        return known or "Any"
    if default is None:
        return f"{known} | None" if known else "Any"
    if isinstance(default, bool):
        # PyTorch's `bias`, in functions a tensor, is a flag in layers.
        return "builtins.bool"
    if isinstance(default, str):
        return "builtins.str"
    if isinstance(default, float) or (isinstance(default, int) and name in FLOATS):
        return "builtins.float"
    if isinstance(default, int):
        return known if known and "Sequence" in known else "builtins.int"
    if isinstance(default, tuple):
        plain = default and all(isinstance(item, (int, float)) for item in default)
        return "Sequence[builtins.float]" if plain else "Sequence[Any]"
    return "Any"


def _default(parameter):
    if parameter.default is parameter.empty:
        return ""
    plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
    finite = not isinstance(parameter.default, float) or parameter.default - parameter.default == 0
    return f"={parameter.default!r}" if plain and finite else "=..."


def _signature(function, where, skips_self=True):
    """`(self, x: Tensor, *, ...)`, as text."""
    out, last = [], None
    for parameter in inspect.signature(function).parameters.values():
        if last == parameter.POSITIONAL_ONLY and parameter.kind != last:
            out.append("/")
        if parameter.kind == parameter.KEYWORD_ONLY and last not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            out.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if not out and skips_self and parameter.name in ("self", "cls"):
            out.append(parameter.name)
        else:
            out.append(f"{stars}{parameter.name}: {_type(where, parameter)}{_default(parameter)}")
        last = parameter.kind
    if last == inspect.Parameter.POSITIONAL_ONLY:
        out.append("/")
    return f"({', '.join(out)})"


def _result(module, owners, name, function):
    annotation = inspect.signature(function).return_annotation
    if isinstance(annotation, str):
        return annotation
    for owner in owners:
        if f"{owner}.{name}" in RESULTS:
            return RESULTS[f"{owner}.{name}"]
    if name in RESULTS:
        return RESULTS[name]
    several = SEVERAL & {owners[0] if owners else name}
    if module.startswith("unigrad._torch_names") and name not in OTHER_NAMES:
        return "Tensor"
    part = module.removeprefix("unigrad.array_api._")
    if part in ("creation", "elementwise", "linear", "manipulation", "searching", "statistical") and not owners and not several:
        return "Tensor"
    of_tensors = module.startswith("unigrad.nn.functional.") or module == "unigrad.nn.init"
    if module.startswith("unigrad.nn") and not several and (name == "forward" or (not owners and of_tensors)):
        return "Tensor"
    return "Any"


def _text(function):
    doc = function.__doc__ and inspect.cleandoc(function.__doc__)
    return "\n" + textwrap.indent(f'"""{doc}"""\n...'.replace("\\", "\\\\"), "    ") if doc and '"""' not in doc else " ..."


def _head(module, owners, name, function, where, skips_self):
    """`(self, x: Tensor) -> Tensor:`, as text."""
    return f"{_signature(function, where, skips_self)} -> {_result(module, owners, name, function)}:"


def _function(module, owners, name, function, where):
    kind = ""
    if isinstance(function, (staticmethod, classmethod)):
        kind, function = f"@{type(function).__name__}\n", function.__func__
    return f"{kind}def {name}{_head(module, owners, name, function, where, bool(owners) and 'static' not in kind)}{_text(function)}"


def _attributes(cls):
    """Public names that `__init__` gives an instance, with the types of parameters that they are."""
    function = cls.__dict__.get("__init__")
    if not inspect.isfunction(function):
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return {}
    given = inspect.signature(function).parameters
    found = {}
    targets = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    for target in [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]:
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and not target.attr.startswith("_"):
            # What is kept of an argument has its name; weights are made.
            argument = given.get(target.attr)
            is_kept = argument is not None and argument.default is not None and target.attr not in ("weight", "bias")
            found.setdefault(target.attr, _type(cls.__name__, argument) if is_kept else "Any")
    return found


def _class(module, cls, imports):
    owners = [base.__name__ for base in cls.__mro__ if base is not object]
    bases = []
    for base in cls.__bases__:
        if base.__module__.startswith("unigrad"):
            bases.append(_named(module, base, imports))
        elif base not in (object, typing.Generic):
            bases.append(f"builtins.{base.__name__}" if base.__module__ == "builtins" else {"OrderedDict": "OrderedDict[Any, Any]"}.get(base.__name__, ""))
    generic = {"builtins.dict": "[Any, Any]", "builtins.tuple": "[Any, ...]", "builtins.list": "[Any]"}
    bases = [base + generic.get(base, "") for base in bases if base]
    inherited = {name for base in cls.__mro__[1:] for name in {**vars(base), **_attributes(base)}}
    # From 3.13 on documentation is kept without its indentation.
    doc = inspect.cleandoc(cls.__doc__ or "")
    body = [f'"""{doc}"""'.replace("\\", "\\\\")] if doc and '"""' not in doc else []
    own = {key: value for key, value in vars(cls).items() if not key.startswith("_") or key in RESULTS or key in ("__call__", "__getitem__", "__getattr__", "__iter__", "__add__")}
    fields = inspect.get_annotations(cls)
    for name, type_ in {**{key: "Any" for key in fields if not key.startswith("_")}, **_attributes(cls)}.items():
        if name not in own and name not in inherited:
            body.append(f"{name}: {type_}")
    for name, value in own.items():
        if isinstance(value, property):
            body.append(f"@property\ndef {name}(self) -> Any:{_text(value.fget)}")
            if value.fset is not None:
                body.append(f"@{name}.setter\ndef {name}(self, value: Any) -> None: ...")
        elif inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod)):
            body.append(_function(module, owners, name, value, cls.__name__))
            if name == "__init__" and cls.__name__ == "Module":
                # What a module's own class says of its attributes is not known: their names are in the dict of each module.
                body.append("def __getattr__(self, name: builtins.str) -> Any: ...")
            if name == "forward" and cls.__name__ != "Module" and "__call__" not in own and "Module" in owners:
                body.append(f"def __call__{_head(module, owners, name, value, cls.__name__, True)} ...")
        elif name == "__hash__" or name in inherited:
            continue
        elif not name.startswith("_"):
            body.append(f"{name}: Any")
    return f"class {cls.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}:\n" + textwrap.indent("\n".join(body) or "...", "    ")


def _named(module, cls, imports):
    """A class by a name of this module's stub."""
    if cls.__module__ != module:
        imports.add((cls.__module__, cls.__name__))
    return cls.__name__


def stub(name):
    """The text of a module's stub."""
    module = importlib.import_module(f"unigrad.{name}")
    imports, out = set(), []
    members = dict(vars(module))
    # Bases that are not public are written all the same.
    classes = [value for value in members.values() if inspect.isclass(value) and value.__module__ == module.__name__]
    needed = {id(base) for cls in classes if not cls.__name__.startswith("_") for base in cls.__mro__}
    for key, value in members.items():
        is_protocol = key.startswith("__") and getattr(value, "__module__", None) == module.__name__ and key not in ("__getattr__", "__dir__")
        if key.startswith("_") and id(value) not in needed and key not in getattr(module, "__all__", ()) and not is_protocol:
            continue
        where = getattr(value, "__module__", None)
        if inspect.ismodule(value):
            if value.__name__ == f"{module.__name__}.{key}":
                out.append(f"from . import {key} as {key}")
        elif inspect.isclass(value) and where == module.__name__:
            is_other = members.get(value.__name__) is value and key != value.__name__
            out.append(f"{key} = {value.__name__}" if is_other else _class(where, value, imports).replace(f"class {value.__name__}", f"class {key}", 1))
        elif inspect.isfunction(value) and where == module.__name__:
            own = key == value.__name__
            out.append(_function(where, [], key, value, key) if own else f"{key} = {value.__name__}")
        elif isinstance(where, str) and where.startswith("unigrad") and (inspect.isclass(value) or inspect.isfunction(value)):
            if key in getattr(module, "__all__", [key]):
                imports.add((where, value.__name__) if key == value.__name__ else (where, f"{value.__name__} as {key}"))
        elif key in getattr(module, "__all__", ()) and inspect.isbuiltin(value) and value is getattr(unigrad._unigrad._data, key, None):
            imports.add(("unigrad.data.native", key))
        elif key in getattr(module, "__all__", ()):
            owner = getattr(value, "__objclass__", None)
            out.append(f"{key} = Tensor.{value.__name__}" if owner is unigrad.Tensor else f"{key}: Any")
    lines = [f"from {where} import {what if ' as ' in what else f'{what} as {what}'}" for where, what in sorted(imports)]
    text = "\n".join(out)
    mine = [line for line in HEADER if f"from {module.__name__} import" not in line and (line.rpartition(" ")[2] not in RARE or line.rpartition(" ")[2] in text)]
    aliases = [f"_{line.split(' as _')[1]} = {line.split(' as _')[1]}" for line in HEADER if f"from {module.__name__} import" in line and " as _" in line]
    return "\n".join([*mine, *lines, "", *out, *aliases])
