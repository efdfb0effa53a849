"""Trainers, callbacks, and networks by description.

>>> import unigrad as ug
>>> x = ug.randn(64, 2)
>>> loader = ug.data.DataLoader(ug.data.TensorDataset(x, (x[:, 0] > x[:, 1]).cast("int64")), batch_size=16)
>>> model = ug.nn.Linear(2, 2)
>>> trainer = ug.Trainer(max_epochs=2, metrics=[ug.metrics.Accuracy()])
>>> run = trainer.fit(model, ug.nn.CrossEntropyLoss(), ug.optim.AdamW(model.parameters(), lr=0.1), loader)
>>> sorted(run.history), run.n_steps
(['accuracy', 'loss'], 8)
"""

import json
from dataclasses import dataclass, field

from . import _check
from ._errors import ArgumentError
from ._unigrad import Fp8Recipe, Tensor, _train, tensor
from .metrics import Metric
from .network import Network, _path
from .nn.module import Module
from .optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from .optim.optimizer import Optimizer

__all__ = [
    "EMA", "SWA", "BatchSizes", "Callback", "EarlyStopping", "KeepBest", "LRCurve", "Network", "Run", "TensorBoard", "Trainer", "compare_runs",
]  # fmt: skip


class Callback:
    """What a program does beside the training: a class of one's own has some of these methods. Each gets the run's state: ``run.epoch``, ``run.step``,
    ``run.lr``, ``run.loss``, ``run.history``; ``run.stop(why)`` ends it. ``state_dict`` (texts by name) is kept in checkpoints.

    >>> import unigrad as ug
    >>> class Stop(ug.train.Callback):
    ...     def on_step_end(self, run):
    ...         run.stop('enough')
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> ug.Trainer(max_epochs=9, callbacks=[Stop()]).fit(model, ug.nn.MSELoss(), optimizer, batches).n_steps
    1
    """

    def on_run_begin(self, run):
        """Before the first step."""

    def on_epoch_begin(self, run):
        """Before the first batch of an epoch."""

    def on_step_end(self, run):
        """After a step; its loss may not be known yet."""

    def on_validation_begin(self, run):
        """Before validation."""

    def on_validation_end(self, run):
        """After validation."""

    def on_epoch_end(self, run):
        """After an epoch, when its figures are in the history."""

    def on_run_end(self, run):
        """After the last step, however the run ended, but for an error."""


class _Native(Callback):
    def _native(self):
        return dict(self.__dict__)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items() if name != 'kind')})"


def _metric_name(metric):
    if not isinstance(metric, str):
        raise TypeError(f"argument 'metric': a name is wanted, not {_check._kind(metric)}")
    return metric


class EarlyStopping(_Native):
    """Ends a run whose metric has not become better for ``patience`` values; with ``restore_best`` the best weights are put back.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=9, callbacks=[ug.train.EarlyStopping(metric="loss", min_delta=100.0, patience=1)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps < 9
    True
    """

    def __init__(self, metric="val_loss", mode="min", patience=3, min_delta=0.0, restore_best=False):
        self.kind, self.metric, self.mode = "early_stopping", _metric_name(metric), _check.one_of("mode", mode, ("min", "max"))
        self.patience, self.min_delta = _check.size("patience", patience), _check.number("min_delta", min_delta, 0.0)
        self.restore_best = _check.flag("restore_best", restore_best)


class KeepBest(_Native):
    """Keeps the weights of the ``n`` best epochs in the run's folder.

    >>> import tempfile
    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> trainer = ug.Trainer(max_epochs=2, folder=tempfile.mkdtemp(), callbacks=[ug.train.KeepBest(metric='loss')])
    >>> trainer.fit(model, ug.nn.MSELoss(), optimizer, batches).n_steps
    2
    """

    def __init__(self, metric="val_loss", mode="min", n=1):
        self.kind, self.metric, self.mode = "keep_best", _metric_name(metric), _check.one_of("mode", mode, ("min", "max"))
        self.n = _check.positive("n", n)


class EMA(_Native):
    """Exponential averages of the weights, which validation and the result use.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=2, callbacks=[ug.train.EMA(0.9)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps
    2
    """

    def __init__(self, decay=0.999):
        self.kind, self.decay = "ema", _check.probability("decay", decay)


class SWA(_Native):
    """Equal averages of the weights from an epoch on, which validation and the result use.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=2, callbacks=[ug.train.SWA(1)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps
    2
    """

    def __init__(self, start):
        self.kind, self.start = "swa", _check.size("start", start)


class TensorBoard(_Native):
    """Writes event files for TensorBoard into the run's folder.

    >>> import tempfile
    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> trainer = ug.Trainer(max_epochs=2, folder=tempfile.mkdtemp(), callbacks=[ug.train.TensorBoard()])
    >>> trainer.fit(model, ug.nn.MSELoss(), optimizer, batches).n_steps
    2
    """

    def __init__(self):
        self.kind = "tensorboard"


@dataclass
class Run:
    """What came of a run: ``history`` has figures of epochs by name (``loss``, ``val_loss``, ``accuracy``, ..), ``ended`` says why it ended.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_steps=2).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps, len(run.step_losses)
    (2, 2)
    """

    history: dict
    ended: str
    n_steps: int
    lr: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    step_losses: list = field(default_factory=list)
    profile: str = None


@dataclass
class LRCurve:
    """What learning rates did: ``points`` are pairs of a rate and a smoothed loss; ``suggestion`` is the rate at which it falls fastest, or ``None``.

    >>> import unigrad as ug
    >>> ug.train.LRCurve(points=[(0.1, 2.0), (0.2, 1.5)], suggestion=0.1).suggestion
    0.1
    """

    points: list
    suggestion: float


@dataclass
class BatchSizes:
    """What batch sizes took: ``best`` is the greatest that fits; ``tried`` has each size with the most bytes in use and the seconds of a step.

    >>> import unigrad as ug
    >>> ug.train.BatchSizes(best=8, tried=[(8, 1024, 0.1)]).best
    8
    """

    best: int
    tried: list


def compare_runs(runs, path=None):
    """A page (HTML) that shows the curves and figures of several runs, each by its folder, and the settings in which they differ; written to ``path``, if one is given.

    >>> import tempfile
    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> folder = tempfile.mkdtemp()
    >>> run = ug.Trainer(max_epochs=1, folder=folder).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> ug.train.compare_runs([folder]).startswith('<!')
    True
    """
    if isinstance(runs, (str, bytes)) or not hasattr(runs, "__iter__"):
        raise TypeError(f"argument 'runs': folders of runs are wanted, not {_check._kind(runs)}")
    page = _train.compare_runs([_path("runs", run) for run in runs])
    if path is not None:
        with open(_path("path", path), "w", encoding="utf-8") as file:
            file.write(page)
    return page


class _Stepper(Callback):
    """Steps a scheduler, after each epoch or each step."""

    def __init__(self, scheduler, per_step):
        self.scheduler, self.per_step = scheduler, per_step

    def on_step_end(self, run):
        if self.per_step:
            self.scheduler.step()

    def on_epoch_end(self, run):
        if self.per_step:
            return
        if isinstance(self.scheduler, ReduceLROnPlateau):
            figures = run.history
            self.scheduler.step(figures.get("val_loss", figures.get("loss"))[-1])
        else:
            self.scheduler.step()

    def state_dict(self):
        return {"scheduler": json.dumps({name: value for name, value in self.scheduler.state_dict().items() if _is_plain(value)})}

    def load_state_dict(self, state):
        if "scheduler" in state:
            self.scheduler.load_state_dict(json.loads(state["scheduler"]))
            # The rates are those of the optimizer's groups, which a run's files do not have.
            for group, rate in zip(self.scheduler.optimizer.param_groups, self.scheduler.get_last_lr()):
                group["lr"] = rate


def _is_plain(value):
    return isinstance(value, (int, float, str, bool, list))


def _moved(batch, device):
    if isinstance(batch, Tensor):
        return batch.to(device)
    if hasattr(batch, "__array__"):
        return tensor(batch, device=device)
    if isinstance(batch, dict):
        return {name: _moved(part, device) for name, part in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(_moved(part, device) for part in batch)
    return batch


class Trainer:
    """A loop that trains a model, and what belongs to a run: validation, metrics, callbacks, checkpoints and exact resume, a history, a report.

    ``folder`` is where checkpoints, figures and ``report.html`` are kept; with ``resume`` a run that was stopped goes on from its last checkpoint.
    ``precision`` is "f32", "bf16", "f16", "fp8" or an ``amp.Fp8Recipe``; ``loss_scale`` is a dict of ``amp.GradScaler``'s settings for "f16". ``accumulate`` batches count together in a step. ``scheduler`` is one of ``optim.lr_scheduler``, stepped after each
    epoch, or with ``scheduler_per_step`` after each step. Beyond ``activation_limit`` bytes of what a step keeps between its launches, logits are made by chunks
    of rows, and values are dropped and made again: the same gradients in less memory, but for the order of a head's sums. What the first step needs and the device
    has not is an error before it runs, unless ``check_memory`` is false.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=3).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps, len(run.history['loss'])
    (3, 3)
    """

    def __init__(
        self,
        max_epochs=None,
        max_steps=None,
        *,
        metrics=(),
        callbacks=(),
        device=None,
        seed=None,
        folder=None,
        resume=False,
        checkpoint_every=None,
        validate_every=1,
        accumulate=1,
        clip_norm=None,
        clip_value=None,
        precision="f32",
        loss_scale=None,
        scheduler=None,
        scheduler_per_step=False,
        time_limit=None,
        read_every=None,
        gradient_checkpointing=False,
        activation_limit=None,
        check_memory=True,
        train_metrics=True,
        profile=None,
        report=True,
        title=None,
        verbose=False,
    ):
        def count(name, value):
            return None if value is None else _check.positive(name, value)

        def above(name, value):
            return None if value is None else _check.number(name, value, above=0.0)

        self.settings = {
            "max_epochs": count("max_epochs", 1 if max_epochs is None and max_steps is None else max_epochs),
            "max_steps": count("max_steps", max_steps),
            "seed": None if seed is None else _check.whole("seed", seed, 0),
            "folder": None if folder is None else _path("folder", folder),
            "resume": _check.flag("resume", resume),
            "checkpoint_every": count("checkpoint_every", checkpoint_every),
            "validate_every": count("validate_every", validate_every),
            "accumulate": count("accumulate", accumulate),
            "clip_norm": above("clip_norm", clip_norm),
            "clip_value": above("clip_value", clip_value),
            "precision": "fp8" if isinstance(precision, Fp8Recipe) else _check.one_of("precision", precision, ("f32", "bf16", "f16", "fp8")),
            "fp8": precision if isinstance(precision, Fp8Recipe) else None,
            "loss_scale": None if loss_scale is None else self._loss_scale(loss_scale),
            "time_limit": None if time_limit is None else _check.number("time_limit", time_limit, 0.0, 1e9),
            "read_every": count("read_every", read_every),
            "gradient_checkpointing": _check.flag("gradient_checkpointing", gradient_checkpointing),
            "activation_limit": count("activation_limit", activation_limit),
            "check_memory": _check.flag("check_memory", check_memory),
            "train_metrics": _check.flag("train_metrics", train_metrics),
            "profile": count("profile", profile),
            "report": _check.flag("report", report),
            "title": title if title is None or isinstance(title, str) else _path("title", title),
            "verbose": _check.flag("verbose", verbose),
        }
        self.metrics = self._all("metrics", metrics, lambda metric: isinstance(metric, Metric) and hasattr(metric, "_inner"))
        events = ("on_run_begin", "on_epoch_begin", "on_step_end", "on_validation_begin", "on_validation_end", "on_epoch_end", "on_run_end")
        self.callbacks = self._all("callbacks", callbacks, lambda callback: any(hasattr(callback, event) for event in events))
        if scheduler is not None and not isinstance(scheduler, (LRScheduler, ReduceLROnPlateau)):
            raise TypeError(f"argument 'scheduler': one of `optim.lr_scheduler` is wanted, not {_check._kind(scheduler)}")
        self.scheduler, self.scheduler_per_step = scheduler, _check.flag("scheduler_per_step", scheduler_per_step)
        self.device = device

    @staticmethod
    def _loss_scale(given):
        settings = {"init_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}
        if not isinstance(given, dict):
            raise TypeError(f"argument 'loss_scale': a dict is wanted, not {_check._kind(given)}")
        for name in given:
            settings[_check.one_of("loss_scale", name, tuple(settings))] = given[name]
        interval = _check.positive("growth_interval", settings.pop("growth_interval"))
        return (*(_check.number(name, value) for name, value in settings.items()), interval)

    @staticmethod
    def _all(name, given, fits):
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise TypeError(f"argument '{name}': a list is wanted, not {_check._kind(given)}")
        given = list(given)
        for one in given:
            if not fits(one):
                raise TypeError(f"argument '{name}': a {_check._kind(one)} is none of them")
        return given

    def fit(self, model, loss, optimizer, train, validation=None, *, step=None):
        """Trains ``model`` on the batches of ``train``, which are pairs of inputs and targets: ``loss(model(inputs), targets)``. Returns a ``Run``.

        Another step is a function ``step(model, batch)``, which returns a loss, or a loss, a prediction and a target (for metrics); ``loss`` is then ``None``.
        An exception leaves the model as it was before the step that failed.
        """
        learner, device = self._learner(model, loss, optimizer, step)
        callbacks = list(self.callbacks)
        if self.scheduler is not None:
            callbacks.append(_Stepper(self.scheduler, self.scheduler_per_step))
        came = _train.fit(
            *learner,
            self._source("train", train),
            None if validation is None else self._source("validation", validation),
            [metric._inner for metric in self.metrics],
            callbacks,
            device,
            self._given(),
        )
        return Run(**came)

    def find_lr(self, model, loss, optimizer, train, *, step=None, start=1e-7, end=10.0, steps=100, smoothing=0.9, diverged=4.0):
        """Tries learning rates from ``start`` to ``end`` (Smith, 2017), a step each, until the loss is ``diverged`` times its least. Returns an ``LRCurve``; the
        model, the optimizer and random numbers are afterwards what they were.

        >>> import unigrad as ug
        >>> ug.manual_seed(0) and None
        >>> x = ug.randn(64, 2)
        >>> model = ug.nn.Linear(2, 1)
        >>> optimizer = ug.optim.SGD(model.parameters(), lr=1.0)
        >>> curve = ug.Trainer().find_lr(model, ug.nn.MSELoss(), optimizer, [(x, x.sum(1, keepdim=True))], start=1e-4)
        >>> 1e-3 < curve.suggestion < 10.0
        True
        """
        learner, device = self._learner(model, loss, optimizer, step)
        rates = _check.number("start", start, above=0.0), _check.number("end", end, above=0.0)
        if rates[1] <= rates[0]:
            raise ArgumentError(f"argument 'end' is {end}, and 'start' is {start}\n help: give a greater 'end'")
        if _check.number("smoothing", smoothing, 0.0) >= 1.0:
            raise ArgumentError(f"argument 'smoothing' is {smoothing}\n help: use a number from 0 to below 1")
        limits = _check.whole("steps", steps, 2), float(smoothing), _check.number("diverged", diverged, above=1.0)
        return LRCurve(*_train.find_lr(*learner, self._source("train", train), device, self._given(), (*rates, *limits)))

    def find_batch_size(self, model, loss, optimizer, make, *, step=None, most=65536):
        """The greatest batch whose step fits into memory, by doubling up to ``most`` from what suits the device; ``make(n)`` makes a batch of
        ``n`` items. Returns ``BatchSizes``; the model, the optimizer and random numbers are afterwards what they were.

        >>> import unigrad as ug
        >>> model = ug.nn.Linear(2, 1)
        >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
        >>> found = ug.Trainer().find_batch_size(model, ug.nn.MSELoss(), optimizer, lambda n: (ug.randn(n, 2), ug.randn(n, 1)), most=8)
        >>> found.best
        8
        """
        learner, device = self._learner(model, loss, optimizer, step)
        return BatchSizes(*_train.find_batch_size(*learner, _check.call("make", make), device, self._given(), _check.positive("most", most)))

    def _given(self):
        return {name: value for name, value in self.settings.items() if value is not None}

    def _learner(self, model, loss, optimizer, step):
        """What learns, as the native trainer takes it, and the device."""
        if not isinstance(model, Module):
            raise TypeError(f"argument 'model': a Module is wanted, not {_check._kind(model)}")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"argument 'optimizer': one of `unigrad.optim` is wanted, not {_check._kind(optimizer)}")
        step = self._step_of(loss) if step is None else _check.call("step", step)
        parameters = list(model.named_parameters())
        if not parameters:
            raise ArgumentError("argument 'model' has no parameters\n help: give one that learns")
        device = parameters[0][1].device if self.device is None else self.device

        def run_step(batch, training):
            batch = _moved(batch, device)
            given = step(model, batch)
            value, scored = (given[0], [(given[1], given[2])]) if isinstance(given, tuple) else (given, [])
            if not isinstance(value, Tensor):
                raise TypeError(f"argument 'step': it returned a {_check._kind(value)}; a loss, a tensor of one element, is wanted")
            return value, _items(batch), scored

        buffers = list(model.named_buffers())
        return (run_step, model.train, optimizer._update_settings, parameters, buffers, optimizer._inner), device

    @staticmethod
    def _step_of(loss):
        _check.call("loss", loss)

        def step(model, batch):
            if not isinstance(batch, (list, tuple)) or len(batch) < 2:
                raise TypeError(f"argument 'train': pairs of inputs and targets are wanted, not {_check._kind(batch)}; or give `step`")
            *inputs, target = batch
            prediction = model(*inputs)
            return loss(prediction, target), prediction, target

        return step

    @staticmethod
    def _source(name, loader):
        if isinstance(loader, (str, bytes, dict)) or not hasattr(loader, "__iter__") or not hasattr(loader, "__len__"):
            raise TypeError(f"argument '{name}': a DataLoader, or a list of batches, is wanted, not {_check._kind(loader)}")
        n_batches = len(loader)
        dataset = getattr(loader, "dataset", None)
        n_items = len(dataset) if hasattr(dataset, "__len__") else n_batches
        if n_batches == 0:
            raise ArgumentError(f"argument '{name}' has no batches\n help: give at least one")
        return loader, n_batches, n_items


def _items(batch):
    while isinstance(batch, (list, tuple, dict)):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return batch.shape[0] if isinstance(batch, Tensor) and batch.ndim else 1
