"""What all optimizers share: groups of parameters with settings, steps, state.

Always: ``param_groups`` are dicts whose settings may be changed between steps. The step itself, and all state, are the native optimizer's; those of a
class that has a ``step`` of its own are Python's.
"""

import json
import math
from collections import OrderedDict, defaultdict

from .. import _check, _noted
from .._errors import ArgumentError, StateDictError
from .._unigrad import Tensor, _nn, _optim, tensor
from ..nn.module import RemovableHandle, _called

__all__ = ["Optimizer"]


# Settings that count something.
_COUNTS = ("max_iter", "history_size", "warmup_steps", "max_side", "min_8bit_size")


def _plain(name, value, default):
    """A setting as JSON has it: of the kind of its default."""
    if hasattr(value, "item"):
        # A tensor, of PyTorch's too, or a number of NumPy's.
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


def _mu_product(group, steps):
    """NAdam's product of first betas after so many steps, with settings that were the same in all of them."""
    product = 1.0
    for step in range(1, steps + 1):
        product *= group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        if product == 0:
            break
    return product


def _memory(tensors, steps):
    """The memory of L-BFGS in PyTorch's form: the state of the first parameter."""
    own = {"step": tensor(float(steps), dtype="float32"), "n_iter": tensors["n_iter"].item(), "func_evals": tensors["func_evals"].item(), "H_diag": tensors["h_diag"]}
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


def _taken(own, param):
    """What a class of one's own keeps for a parameter, of a saved state: floats as the parameter has them, apart from a count of steps."""
    from ..nn.module import _tensor_of

    def take(name, value):
        if isinstance(value, dict):
            return {key: take(key, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(take(name, item) for item in value)
        if not isinstance(value, Tensor) and not hasattr(value, "detach"):
            return value
        value = value.detach().clone() if isinstance(value, Tensor) else _tensor_of(value)
        if name == "step":
            return value
        return value.to(param.device, param.dtype) if param.dtype.is_floating_point and value.dtype.is_floating_point else value.to(param.device)

    return {name: take(name, value) for name, value in own.items()}


class Optimizer:
    """What all optimizers are: ``step()``, ``zero_grad()``, ``param_groups``, ``state_dict()``.

    A class of one's own calls ``super().__init__(params, defaults)``, keeps what it likes in ``self.state[param]``, and has a ``step``, as in PyTorch.

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
        self._begin_hooks()
        self._inner, self._own_state = None, defaultdict(dict)
        if any(isinstance(group, dict) for group in params):
            groups = params
        else:
            groups = [{"params": params}]
        for group in groups:
            self._check_group(group)
        self._remake()

    def _begin_hooks(self):
        self._step_hooks, self._pre_step_hooks = OrderedDict(), OrderedDict()
        self._save_hooks, self._saved_hooks = OrderedDict(), OrderedDict()
        self._load_hooks, self._loaded_hooks = OrderedDict(), OrderedDict()

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
        named = [isinstance(p, tuple) and len(p) == 2 for p in params]
        if any(named) != all(named) or (self.param_groups and params and any(named) != ("param_names" in self.param_groups[0])):
            raise ArgumentError("argument 'params' has parameters with names and without\n help: give all of them names, or none")
        names = [p[0] for p in params] if any(named) else None
        params = [p[1] if names is not None else p for p in params]
        for param in params:
            _check.tensor("params", param)
            if not param.is_leaf:
                raise ArgumentError("argument 'params' has a tensor that is computed from others\n help: give leaves: `model.parameters()`")
        known = {id(param) for own in self.param_groups for param in own["params"]}
        if len({id(param) for param in params}) != len(params) or any(id(param) in known for param in params):
            raise ArgumentError("argument 'params' has a parameter twice\n help: give each once, in one group")
        made = {"params": params, **({} if names is None else {"param_names": names})}
        made.update({name: value for name, value in group.items() if name != "params"})
        for name, value in self.defaults.items():
            made.setdefault(name, value)
        if self._rule is not None:
            self._settings(made)
            _check.flag("maximize", made.get("maximize", False))
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
                if name == "betas" and not all(0.0 <= beta < 1.0 for beta in own[native]):
                    raise ArgumentError(f"argument 'betas' is {value}\n help: use numbers from 0 to below 1")
        # Adam whose weight decay is beside the gradient is AdamW.
        rule = "adamw" if self._rule == "adam" and group.get("decoupled_weight_decay") else self._rule
        return json.dumps({rule: own})

    def _key(self):
        # What is compared in each step, to find what has changed.
        return [[group[name] for name in self.defaults] for group in self.param_groups]

    def _made(self, groups):
        """A native optimizer of such groups, as it is before the first step."""
        given = [(self._settings(group), self._trainable(group["params"])) for group in groups]
        try:
            made = _optim.Optimizer(given, self._around)
        except ArgumentError as error:
            # The crates' names of settings are others.
            for name, native in self._native.items():
                if f"`{native}`" in str(error):
                    error.add_note(f"while processing '{name}'")
            raise
        for at, group in enumerate(groups):
            if group.get("maximize") and not made.needs_closure():
                made.set_maximize(at, True)
        return made

    def _remake(self):
        if self._rule is None:
            for group in self.param_groups:
                self._trainable(group["params"])
            return
        self._inner = self._made(self.param_groups)
        self._seen = self._key()

    def _renew(self, n_known=None):
        """The native optimizer anew, where other things are kept than before: for more parameters, or more for each. What was kept stays; parameters after
        the first ``n_known`` have missed all steps so far."""
        old, steps = self._inner.state()
        self._remake()
        state, _ = self._inner.state()
        n = sum(len(group["params"]) for group in self.param_groups)
        n_known = n if n_known is None else n_known
        missed = (old["steps_missed"].tolist() if "steps_missed" in old else [0] * n_known) + [steps] * (n - n_known)
        state.update({name: value for name, value in old.items() if name in state})
        if any(missed):
            state["steps_missed"] = tensor(missed)
        self._inner.load_state(state, steps)

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
        if self._inner is not None and now != self._seen and self._rule == "rprop" and self.n_steps == 0:
            # Its first step sizes are the learning rate that the first step finds, which a scheduler may have made another one.
            self._remake()
        if self._inner is not None and now != self._seen:
            keeps_other = False
            for at, (group, new, old) in enumerate(zip(self.param_groups, now, self._seen)):
                if new != old:
                    settings = self._settings(group)
                    if not self._inner.needs_closure():
                        self._inner.set_maximize(at, _check.flag("maximize", group.get("maximize", False)))
                    try:
                        self._inner.set(at, settings)
                    except ArgumentError as error:
                        if "other state" not in str(error):
                            raise
                        keeps_other = True
            if keeps_other:
                # A momentum where there was none, say.
                self._renew()
            self._seen = now

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own. State of the others stays; each parameter counts its own steps."""
        before = len(self.param_groups)
        n = sum(len(group["params"]) for group in self.param_groups)
        self._check_group(param_group)
        try:
            self._remake() if self._inner is None else self._renew(n)
        except BaseException:
            del self.param_groups[before:]
            raise

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters; with ``set_to_none=False`` those that there are become zeros."""
        for group in self.param_groups:
            if set_to_none:
                _nn.forget_gradients(group["params"])
                continue
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = param.grad.detach() * 0

    def step(self, closure=None):
        """One step with the gradients that ``backward`` left; computes the loss too, in the same evaluation. With a ``closure`` its loss is returned."""
        if self._inner is None:
            raise NotImplementedError(f"{type(self).__name__} has no `step`\n help: write the method")
        for hook in _called(self._pre_step_hooks):
            given = hook(self, (closure,) if closure is not None else (), {})
            if given is not None:
                closure = given[0][0] if given[0] else given[1].get("closure", closure)
        self._update_settings()
        loss = None
        if closure is not None:
            _check.call("closure", closure)
            if self._inner.needs_closure():
                # Up is down the negative of what is to be maximized.
                up = bool(self.param_groups[0].get("maximize"))
                loss = self._inner.step_by((lambda: -closure()) if up else closure)
                self._after_step()
                return -loss if up else loss
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
        for hook in _called(self._step_hooks):
            hook(self, (), {})

    def _hook(self, hooks, hook, prepend=False):
        handle = RemovableHandle(hooks)
        hooks[handle.id] = _check.call("hook", hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` before each step; what it returns, if not ``None``, are other arguments."""
        return self._hook(self._pre_step_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        return self._hook(self._step_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` before each ``state_dict``."""
        return self._hook(self._save_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` after each ``state_dict``; what it returns, if not ``None``, is the state."""
        return self._hook(self._saved_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` before each ``load_state_dict``; what it returns, if not ``None``, is loaded."""
        return self._hook(self._load_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` after each ``load_state_dict``."""
        return self._hook(self._loaded_hooks, hook, prepend)

    @property
    def n_steps(self):
        """Steps taken so far; a class of one's own counts its own."""
        return 0 if self._inner is None else self._inner.n_steps()

    @property
    def state_bytes(self):
        """Bytes of state."""
        if self._inner is not None:
            return self._inner.state_bytes()
        return sum(value.nbytes for own in self._own_state.values() for value in own.values() if isinstance(value, Tensor))

    @property
    def state(self):
        """State by parameter: a copy, unless the class has a ``step`` of its own. Set to an empty one, the optimizer begins anew."""
        if self._inner is None:
            return self._own_state
        saved = self._saved()["state"]
        params = [param for group in self.param_groups for param in group["params"]]
        return defaultdict(dict, {params[at]: own for at, own in saved.items()})

    @state.setter
    def state(self, state):
        if not isinstance(state, dict):
            raise TypeError(f"argument 'state': a dict of parameters is wanted, not {_check._kind(state)}")
        if self._inner is None:
            self._own_state = state if isinstance(state, defaultdict) else defaultdict(dict, state)
            return
        params = [param for group in self.param_groups for param in group["params"]]
        numbered = {at: state[param] for at, param in enumerate(params) if param in state}
        self._load({"state": numbered, "param_groups": self._numbered_groups()})

    def state_dict(self):
        """State and settings, in PyTorch's form: ``{"state": {0: {"step": .., ..}}, "param_groups": [..]}``."""
        for hook in _called(self._save_hooks):
            hook(self)
        made = self._saved()
        for hook in _called(self._saved_hooks):
            given = hook(self, made)
            made = made if given is None else given
        return made

    def _saved(self):
        if self._inner is None:
            params = [param for group in self.param_groups for param in group["params"]]
            at = {id(param): number for number, param in enumerate(params)}
            return {"state": {at.get(id(param), param): own for param, own in self._own_state.items()}, "param_groups": self._numbered_groups()}
        tensors, steps = self._inner.state()
        if self._inner.needs_closure() and "n_iter" in tensors:
            return {"state": _memory(tensors, steps) if steps else {}, "param_groups": self._numbered_groups()}
        state, extra = {}, {}
        missed = tensors.pop("steps_missed").tolist() if "steps_missed" in tensors else None
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
                own = steps - (missed[at] if missed else 0)
                if own:
                    state.setdefault(at, {})["step"] = tensor(float(own), dtype="float32")
                else:
                    # As in PyTorch, what never had a gradient has no state.
                    state.pop(at, None)
            ends = []
            for group in self.param_groups:
                ends.append((ends[-1] if ends else 0) + len(group["params"]))
            for name, value in extra.items():
                _, at, *_, own = name.split(".")
                group = self.param_groups[int(at)]
                for number in range(ends[int(at)] - len(group["params"]), ends[int(at)]):
                    if number in state:
                        # What is kept is that of the parameters that have missed no step.
                        is_late = own == "mu_product" and missed and missed[number]
                        state[number][own] = tensor(_mu_product(group, steps - missed[number])).cast(value.dtype) if is_late else value
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
        for hook in _called(self._load_hooks):
            given = hook(self, state_dict)
            state_dict = state_dict if given is None else given
        if not isinstance(state_dict, dict) or "state" not in state_dict or "param_groups" not in state_dict:
            raise TypeError("argument 'state_dict': what an optimizer's `state_dict()` gives is wanted")
        self._load(state_dict)
        for hook in _called(self._loaded_hooks):
            hook(self)

    def _load(self, state_dict):
        groups, state = state_dict["param_groups"], state_dict["state"]
        if len(groups) != len(self.param_groups):
            raise StateDictError(f"{len(groups)} groups for {len(self.param_groups)}\n help: make the optimizer with the same groups")
        order = []
        for at, (own, saved) in enumerate(zip(self.param_groups, groups)):
            if len(own["params"]) != len(saved["params"]):
                counts = f"{len(saved['params'])} parameters for {len(own['params'])}"
                raise StateDictError(f"group {at}: {counts}\n help: make the optimizer with the same parameters")
            order += saved["params"]
        new_groups = [self._with_saved(own, saved) for own, saved in zip(self.param_groups, groups)]
        if self._inner is None:
            params = [param for group in self.param_groups for param in group["params"]]
            self._own_state = defaultdict(dict, {params[at]: _taken(state[number], params[at]) for at, number in enumerate(order) if number in state})
        else:
            # Made anew: what nothing is said of is as before the first step, whatever was kept before.
            made = self._made(new_groups)
            tensors, _ = made.state()
            if made.needs_closure() and "n_iter" in tensors:
                given, steps = _remembered(state[order[0]], self.param_groups[0]["params"][0]) if order and state.get(order[0]) else (None, 0)
            else:
                given, steps = self._given(state_dict, order, tensors)
            if given:
                made.load_state(given, steps)
            self._inner = made
        for own, new in zip(self.param_groups, new_groups):
            own.update(new)
        if self._inner is not None:
            self._seen = self._key()

    def _given(self, state_dict, order, tensors):
        """What the native optimizer goes on from, by its names, and the count of steps."""
        from ..nn.module import _tensor_of

        state, given, steps = state_dict["state"], {}, {}
        for at, number in enumerate(order):
            for name, value in state.get(number, {}).items():
                if name == "step":
                    steps[at] = int(float(value.item() if hasattr(value, "item") else value))
                elif value is not None:
                    given[f"state.{at}.{name}"] = value
        # PyTorch counts no steps of rules that need none.
        taken = max(steps.values(), default=0) or int(bool(given))
        given.update(state_dict.get("numbers", {}))
        for name in tensors:
            # What this library keeps once for a group PyTorch keeps for each parameter.
            kind, _, rest = name.partition(".")
            if kind == "number" and name not in given:
                group, own = int(rest.split(".")[0]), rest.split(".")[-1]
                start = sum(len(one["params"]) for one in self.param_groups[:group])
                places = [at for at in range(start, start + len(self.param_groups[group]["params"])) if own in state.get(order[at], {})]
                if places:
                    # That of a parameter that has taken part in the most steps.
                    given[name] = state[order[max(places, key=lambda at: steps.get(at, 0))]][own]
        for name, own in tensors.items():
            if name not in given:
                at = int(name.split(".")[1]) if name.startswith("state.") else None
                if at is not None and any(key != "step" and value is not None for key, value in state.get(order[at], {}).items()):
                    raise StateDictError(f"`{name}` is missing in the state\n help: load the state of the same kind of optimizer")
                given[name] = own
                continue
            value = given[name] if isinstance(given[name], Tensor) else _tensor_of(given[name])
            given[name] = value.cast(own.dtype)
        given = {name: value for name, value in given.items() if name in tensors}
        missed = [taken - steps.get(at, taken if order[at] in state else 0) for at in range(len(order))]
        if any(missed) and state:
            given["steps_missed"] = tensor(missed)
        return given, taken

    def _with_saved(self, own, saved):
        """A group with the settings of a saved one."""
        new = dict(own)
        for name, value in saved.items():
            if name not in ("params", "param_names"):
                new[name] = tuple(value) if isinstance(value, list) and name in self.defaults else value
        return new

    def __getstate__(self):
        hooks = tuple(name for name in self.__dict__ if name.endswith("_hooks"))
        state = {name: value for name, value in self.__dict__.items() if name not in ("_inner", "_seen", "_own_state", *hooks)}
        state["_saved_state"] = self._saved()
        return state

    def __setstate__(self, state):
        state = dict(state)
        saved = state.pop("_saved_state")
        self.__dict__.update(state)
        self._begin_hooks()
        self._inner, self._own_state = None, defaultdict(dict)
        self._remake()
        self._load(saved)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for at, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {at}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name not in ("params", "param_names")]
        return "\n".join([*lines, ")"])
