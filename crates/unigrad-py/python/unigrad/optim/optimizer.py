"""What all optimizers share: groups of parameters with settings, steps, state.

Always: ``param_groups`` are dicts whose settings may be changed between steps. The step itself, and all state, are the native optimizer's.
"""

import json
import math
from collections import OrderedDict

from .. import _check, _noted
from .._errors import ArgumentError, StateDictError
from .._unigrad import Tensor, _nn, _optim, tensor
from ..nn.module import RemovableHandle

__all__ = ["Optimizer"]


# Settings that count something.
_COUNTS = ("max_iter", "history_size", "warmup_steps", "max_side", "min_8bit_size")


def _plain(name, value, default):
    """A setting as JSON has it: of the kind of its default."""
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(default, bool):
        return _check.flag(name, value)
    if isinstance(default, str):
        return _check.one_of(name, value, ("bf16", "f16", "f32", "f64"))
    if name in _COUNTS:
        return _check.whole(name, value, 0)
    if isinstance(default, tuple):
        if isinstance(value, str) or not isinstance(value, (tuple, list)) or len(value) != len(default):
            raise TypeError(f"argument '{name}': {len(default)} numbers are wanted, not {_check._kind(value)}")
        return [_plain(name, item, one) for item, one in zip(value, default)]
    value = _check.number(name, value)
    if not math.isfinite(value):
        raise ArgumentError(f"argument '{name}' is {value}\n help: use a finite number")
    return value


# What L-BFGS keeps for all parameters together: lists by PyTorch's names, and single vectors.
_LISTS, _VECTORS = ("old_dirs", "old_stps", "ro"), ("d", "prev_flat_grad")


def _memory(tensors, steps):
    """The memory of L-BFGS in PyTorch's form: the state of the first parameter."""
    own = {"step": tensor(float(steps)), "n_iter": tensors["n_iter"].item(), "func_evals": tensors["func_evals"].item(), "H_diag": tensors["h_diag"]}
    if "d" in tensors:
        own.update({name: tensors[name] for name in _VECTORS}, t=tensors["t"].item())
    for name in _LISTS:
        own[name] = [tensors[f"{name}.{at}"] for at in range(sum(key.startswith("ro.") for key in tensors))]
    return {0: own}


def _remembered(saved, param):
    """What ``_memory`` or PyTorch gave, as the crates have it, and the steps."""
    from ..nn.module import _tensor_of

    def read(value, dtype):
        value = value if isinstance(value, Tensor) else tensor(value) if isinstance(value, (int, float)) else _tensor_of(value)
        return value.detach().to("cpu", dtype)

    missing = [name for name in ("n_iter", "func_evals", *_LISTS) if name not in saved]
    if missing:
        raise StateDictError(f"`{missing[0]}` is missing in the state\n help: load the state of the same kind of optimizer")
    given = {"n_iter": read(saved["n_iter"], "uint64"), "func_evals": read(saved["func_evals"], "uint64")}
    # PyTorch has a number in some versions, a tensor in others; and none after an iteration without a direction.
    given["h_diag"] = read(saved.get("H_diag", 1.0), "float64").reshape(())
    if saved.get("d") is not None and saved.get("prev_flat_grad") is not None:
        given.update({name: read(saved[name], param.dtype) for name in _VECTORS}, t=read(saved.get("t", 1.0), "float64").reshape(()))
    for name in _LISTS:
        for at, value in enumerate(saved[name] or ()):
            given[f"{name}.{at}"] = read(value, "float64").reshape(()) if name == "ro" else read(value, param.dtype)
    steps = saved.get("step", 1)
    return given, int(steps.item() if hasattr(steps, "item") else steps)


class Optimizer:
    """What all optimizers are: ``step()``, ``zero_grad()``, ``param_groups``, ``state_dict()``.

    >>> import unigrad as ug
    >>> isinstance(ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=0.1), ug.optim.Optimizer)
    True
    """

    # The native rule, its settings with defaults, and for each the native name (the same, unless another), or a function that gives native settings.
    _rule = None
    _defaults = {}
    _native = {}
    _around = None

    def __init__(self, params, defaults):
        if type(self) is Optimizer:
            raise TypeError("an Optimizer of no rule\n help: use SGD, AdamW or another of `unigrad.optim`")
        if isinstance(params, Tensor):
            raise TypeError("argument 'params': an iterable of tensors, or of dicts, is wanted, not Tensor")
        if isinstance(params, (str, bytes, dict)) or not hasattr(params, "__iter__"):
            raise TypeError(f"argument 'params': an iterable of tensors, or of dicts, is wanted, not {_check._kind(params)}")
        params = list(params)
        if not params:
            raise ArgumentError("argument 'params' is empty\n help: give the parameters of a model: `model.parameters()`")
        self.defaults = defaults
        self.param_groups = []
        self._step_hooks = OrderedDict()
        self._inner = None
        if any(isinstance(group, dict) for group in params):
            groups = params
        else:
            groups = [{"params": params}]
        for group in groups:
            self._check_group(group)
        self._remake()

    def _check_group(self, group):
        if not isinstance(group, dict):
            raise TypeError(f"argument 'param_group': a dict is wanted, not {_check._kind(group)}")
        if "params" not in group:
            raise ArgumentError("argument 'param_group' has no 'params'\n help: name the group's parameters")
        params = group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError("argument 'params': an ordered iterable is wanted, not a set")
        if isinstance(params, (str, bytes)) or (not isinstance(params, Tensor) and not hasattr(params, "__iter__")):
            raise TypeError(f"argument 'params': tensors are wanted, not {_check._kind(params)}")
        params = [params] if isinstance(params, Tensor) else list(params)
        # Named parameters are parameters.
        params = [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in params]
        for param in params:
            _check.tensor("params", param)
            if not param.is_leaf:
                raise ArgumentError("argument 'params' has a tensor that is computed from others\n help: give leaves: `model.parameters()`")
        known = {id(param) for own in self.param_groups for param in own["params"]}
        if len({id(param) for param in params}) != len(params) or any(id(param) in known for param in params):
            raise ArgumentError("argument 'params' has a parameter twice\n help: give each once, in one group")
        made = {"params": params, **{name: value for name, value in group.items() if name != "params"}}
        for name, value in self.defaults.items():
            made.setdefault(name, value)
        made.setdefault("initial_lr", made["lr"])
        if "initial_lr" not in group:
            del made["initial_lr"]
        self._settings(made)
        self.param_groups.append(made)

    def _settings(self, group):
        """A group's settings, as the native optimizer reads them."""
        own = {}
        for name, default in self._defaults.items():
            native, value = self._native.get(name, name), group[name]
            if callable(native):
                own.update(native(value))
            else:
                own[native] = _plain(name, value, default)
        return json.dumps({self._rule: own})

    def _key(self):
        # What is compared in each step, to find what has changed.
        return [[group[name] for name in self.defaults] for group in self.param_groups]

    def _remake(self):
        groups = [(self._settings(group), self._trainable(group["params"])) for group in self.param_groups]
        try:
            self._inner = _optim.Optimizer(groups, self._around)
        except ArgumentError as error:
            # The crates' names of settings are others.
            for name, native in self._native.items():
                if f"`{native}`" in str(error):
                    error.add_note(f"while processing '{name}'")
            raise
        self._seen = self._key()

    @staticmethod
    def _trainable(params):
        for param in params:
            if not param.requires_grad:
                # A frozen parameter is one of the optimizer all the same; one that never required a gradient is made one that may.
                param.requires_grad_(True)
                param.requires_grad_(False)
        return params

    def _update_settings(self):
        _noted.note(self)
        now = self._key()
        if now != self._seen:
            for at, (new, old) in enumerate(zip(now, self._seen)):
                if new != old:
                    self._inner.set(at, self._settings(self.param_groups[at]))
            self._seen = now

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own. State of the others stays; the count of steps is one for all."""
        before = len(self.param_groups)
        old = self._inner.state()
        n = sum(len(group["params"]) for group in self.param_groups)
        self._check_group(param_group)
        try:
            self._remake()
        except BaseException:
            del self.param_groups[before:]
            raise
        state, _ = self._inner.state()
        kept = {name: value for name, value in old[0].items() if not name.startswith("state.") or int(name.split(".")[1]) < n}
        state.update({name: value for name, value in kept.items() if name in state})
        self._inner.load_state(state, old[1])

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters."""
        for group in self.param_groups:
            _nn.forget_gradients(group["params"])

    def step(self, closure=None):
        """One step with the gradients that ``backward`` left; computes the loss too, in the same evaluation. With a ``closure`` its loss is returned."""
        self._update_settings()
        loss = None
        if closure is not None:
            _check.call("closure", closure)
            if self._inner.needs_closure():
                loss = self._inner.step_by(closure)
                self._after_step()
                return loss
            loss = closure()
        self._inner.step()
        self._after_step()
        return loss

    def minimize(self, loss):
        """One step down a loss: gradients are taken here, so no ``backward`` and no ``zero_grad`` is needed, and everything is one evaluation."""
        self._update_settings()
        self._inner.minimize(_check.tensor("loss", loss))
        self._after_step()

    def _after_step(self):
        for hook in list(self._step_hooks.values()):
            hook(self, (), {})

    def register_step_post_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        handle = RemovableHandle(self._step_hooks)
        self._step_hooks[handle.id] = _check.call("hook", hook)
        return handle

    @property
    def n_steps(self):
        """Steps taken so far."""
        return self._inner.n_steps()

    @property
    def state_bytes(self):
        """Bytes of state."""
        return self._inner.state_bytes()

    @property
    def state(self):
        """State by parameter: a copy."""
        saved = self.state_dict()["state"]
        params = [param for group in self.param_groups for param in group["params"]]
        return {params[at]: own for at, own in saved.items()}

    def state_dict(self):
        """State and settings, in PyTorch's form: ``{"state": {0: {"step": .., ..}}, "param_groups": [..]}``."""
        tensors, steps = self._inner.state()
        if self._inner.needs_closure() and "n_iter" in tensors:
            return {"state": _memory(tensors, steps) if steps else {}, "param_groups": self._numbered_groups()}
        state, extra = {}, {}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "state":
                at, _, own = rest.partition(".")
                state.setdefault(int(at), {})[own] = value
            else:
                extra[name] = value
        n = sum(len(group["params"]) for group in self.param_groups)
        if steps:
            for at in range(n):
                state.setdefault(at, {})["step"] = tensor(float(steps))
            ends = []
            for group in self.param_groups:
                ends.append((ends[-1] if ends else 0) + len(group["params"]))
            for name, value in extra.items():
                _, at, *_, own = name.split(".")
                for number in range(ends[int(at)] - len(self.param_groups[int(at)]["params"]), ends[int(at)]):
                    state[number][own] = value
        else:
            state = {}
        made = {"state": state, "param_groups": self._numbered_groups()}
        if extra and steps:
            made["numbers"] = extra
        return made

    def _numbered_groups(self):
        groups, start = [], 0
        for group in self.param_groups:
            own = {name: value for name, value in group.items() if name != "params"}
            own["params"] = list(range(start, start + len(group["params"])))
            start += len(group["params"])
            groups.append(own)
        return groups

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``, of this library or of PyTorch. Nothing changes unless it fits."""
        if not isinstance(state_dict, dict) or "state" not in state_dict or "param_groups" not in state_dict:
            raise TypeError("argument 'state_dict': what an optimizer's `state_dict()` gives is wanted")
        groups, state = state_dict["param_groups"], state_dict["state"]
        if len(groups) != len(self.param_groups):
            raise StateDictError(f"{len(groups)} groups for {len(self.param_groups)}\n help: make the optimizer with the same groups")
        order = []
        for at, (own, saved) in enumerate(zip(self.param_groups, groups)):
            if len(own["params"]) != len(saved["params"]):
                counts = f"{len(saved['params'])} parameters for {len(own['params'])}"
                raise StateDictError(f"group {at}: {counts}\n help: make the optimizer with the same parameters")
            order += saved["params"]
        tensors, _ = self._inner.state()
        if self._inner.needs_closure() and "n_iter" in tensors:
            given, steps = _remembered(state[order[0]], self.param_groups[0]["params"][0]) if order and state.get(order[0]) else (None, 0)
            self._take_settings(groups)
            # Made anew: no other setting than its rate may change.
            self._remake()
            if given:
                self._inner.load_state(given, steps)
            return
        given, steps = {}, 0
        for at, number in enumerate(order):
            for name, value in state.get(number, {}).items():
                if name == "step":
                    steps = max(steps, int(float(value.item() if hasattr(value, "item") else value)))
                else:
                    given[f"state.{at}.{name}"] = value
        if given and not steps:
            # PyTorch counts no steps of rules that need none.
            steps = 1
        given.update(state_dict.get("numbers", {}))
        for name in tensors:
            # What this library keeps once for a group PyTorch keeps for each parameter.
            kind, _, rest = name.partition(".")
            if kind == "number" and name not in given:
                start = sum(len(group["params"]) for group in self.param_groups[: int(rest.split(".")[0])])
                found = [state[number][rest.split(".")[-1]] for number in order[start:] if rest.split(".")[-1] in state.get(number, {})]
                if found:
                    given[name] = found[0]
        for name, own in tensors.items():
            if name not in given:
                if name.startswith("state.") and state and order[int(name.split(".")[1])] in state:
                    raise StateDictError(f"`{name}` is missing in the state\n help: load the state of the same kind of optimizer")
                # PyTorch has no state before the first step.
                given[name] = own if not state else own * 0
                continue
            value = given[name]
            if not isinstance(value, Tensor):
                from ..nn.module import _tensor_of

                value = _tensor_of(value)
            given[name] = value.cast(own.dtype)
        given = {name: value for name, value in given.items() if name in tensors}
        self._take_settings(groups)
        self._update_settings()
        self._inner.load_state(given, steps)

    def _take_settings(self, groups):
        for own, saved in zip(self.param_groups, groups):
            for name, value in saved.items():
                if name != "params" and (name in self.defaults or name == "initial_lr"):
                    own[name] = tuple(value) if isinstance(value, list) else value

    def __getstate__(self):
        state = {name: value for name, value in self.__dict__.items() if name not in ("_inner", "_seen", "_step_hooks")}
        state["_saved"] = self.state_dict()
        return state

    def __setstate__(self, state):
        saved = state.pop("_saved")
        self.__dict__.update(state)
        self._step_hooks = OrderedDict()
        self._remake()
        self.load_state_dict(saved)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for at, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {at}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])
