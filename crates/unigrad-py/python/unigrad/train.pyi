# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad.network import Network as Network

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
    1"""
    def on_run_begin(self, run: Any) -> Any:
        """Before the first step."""
        ...
    def on_epoch_begin(self, run: Any) -> Any:
        """Before the first batch of an epoch."""
        ...
    def on_step_end(self, run: Any) -> Any:
        """After a step; its loss may not be known yet."""
        ...
    def on_validation_begin(self, run: Any) -> Any:
        """Before validation."""
        ...
    def on_validation_end(self, run: Any) -> Any:
        """After validation."""
        ...
    def on_epoch_end(self, run: Any) -> Any:
        """After an epoch, when its figures are in the history."""
        ...
    def on_run_end(self, run: Any) -> Any:
        """After the last step, however the run ended, but for an error."""
        ...
class _Native(Callback):
    def __repr__(self) -> builtins.str: ...
class EarlyStopping(_Native):
    """Ends a run whose metric has not become better for ``patience`` values; with ``restore_best`` the best weights are put back.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=9, callbacks=[ug.train.EarlyStopping(metric="loss", min_delta=100.0, patience=1)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps < 9
    True"""
    kind: Any
    metric: builtins.str
    mode: builtins.str
    patience: builtins.int
    min_delta: builtins.float
    restore_best: builtins.bool
    def __init__(self, metric: builtins.str='val_loss', mode: builtins.str='min', patience: builtins.int=3, min_delta: builtins.float=0.0, restore_best: builtins.bool=False) -> None: ...
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
    2"""
    kind: Any
    metric: builtins.str
    mode: builtins.str
    n: builtins.int
    def __init__(self, metric: builtins.str='val_loss', mode: builtins.str='min', n: builtins.int=1) -> None: ...
class EMA(_Native):
    """Exponential averages of the weights, which validation and the result use.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=2, callbacks=[ug.train.EMA(0.9)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps
    2"""
    kind: Any
    decay: builtins.float
    def __init__(self, decay: builtins.float=0.999) -> None: ...
class SWA(_Native):
    """Equal averages of the weights from an epoch on, which validation and the result use.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_epochs=2, callbacks=[ug.train.SWA(1)]).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps
    2"""
    kind: Any
    start: Any
    def __init__(self, start: Any) -> None: ...
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
    2"""
    kind: Any
    def __init__(self) -> None: ...
class Run:
    """What came of a run: ``history`` has figures of epochs by name (``loss``, ``val_loss``, ``accuracy``, ..), ``ended`` says why it ended.

    >>> import unigrad as ug
    >>> x = ug.rand(16, 2)
    >>> model = ug.nn.Linear(2, 1)
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> batches = [(x, x.sum(1, keepdim=True))]
    >>> run = ug.Trainer(max_steps=2).fit(model, ug.nn.MSELoss(), optimizer, batches)
    >>> run.n_steps, len(run.step_losses)
    (2, 2)"""
    history: Any
    ended: Any
    n_steps: Any
    lr: Any
    seconds: Any
    step_losses: Any
    profile: Any
    def __init__(self, history: Any, ended: Any, n_steps: Any, lr: Any=..., seconds: Any=..., step_losses: Any=..., profile: Any=None) -> None: ...
    def __repr__(self) -> builtins.str: ...
class LRCurve:
    """What learning rates did: ``points`` are pairs of a rate and a smoothed loss; ``suggestion`` is the rate at which it falls fastest, or ``None``.

    >>> import unigrad as ug
    >>> ug.train.LRCurve(points=[(0.1, 2.0), (0.2, 1.5)], suggestion=0.1).suggestion
    0.1"""
    points: Any
    suggestion: Any
    def __init__(self, points: Any, suggestion: Any) -> None: ...
    def __repr__(self) -> builtins.str: ...
class BatchSizes:
    """What batch sizes took: ``best`` is the greatest that fits; ``tried`` has each size with the most bytes in use and the seconds of a step.

    >>> import unigrad as ug
    >>> ug.train.BatchSizes(best=8, tried=[(8, 1024, 0.1)]).best
    8"""
    best: Any
    tried: Any
    def __init__(self, best: Any, tried: Any) -> None: ...
    def __repr__(self) -> builtins.str: ...
def compare_runs(runs: Any, path: builtins.str | PathLike[builtins.str] | None=None) -> Any:
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
    True"""
    ...
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
    (3, 3)"""
    settings: Any
    metrics: Sequence[Any]
    callbacks: Sequence[Any]
    scheduler: Any
    scheduler_per_step: builtins.bool
    device: Any
    def __init__(self, max_epochs: builtins.int | None=None, max_steps: builtins.int | None=None, *, metrics: Sequence[Any]=..., callbacks: Sequence[Any]=..., device: Device | builtins.str | None=None, seed: builtins.int | None=None, folder: builtins.str | PathLike[builtins.str] | None=None, resume: builtins.bool=False, checkpoint_every: builtins.int | None=None, validate_every: builtins.int=1, accumulate: builtins.int=1, clip_norm: builtins.float | None=None, clip_value: builtins.float | None=None, precision: builtins.str='f32', loss_scale: Any=None, scheduler: Any=None, scheduler_per_step: builtins.bool=False, time_limit: builtins.float | None=None, read_every: builtins.int | None=None, gradient_checkpointing: builtins.bool=False, activation_limit: builtins.int | None=None, check_memory: builtins.bool=True, train_metrics: builtins.bool=True, profile: Any=None, report: builtins.bool=True, title: builtins.str | None=None, verbose: builtins.bool=False) -> None: ...
    def fit(self, model: _Module, loss: Callable[..., Any] | None, optimizer: _Optimizer, train: Any, validation: Any=None, *, step: Any=None) -> Run:
        """Trains ``model`` on the batches of ``train``, which are pairs of inputs and targets: ``loss(model(inputs), targets)``. Returns a ``Run``.

        Another step is a function ``step(model, batch)``, which returns a loss, or a loss, a prediction and a target (for metrics); ``loss`` is then ``None``.
        An exception leaves the model as it was before the step that failed."""
        ...
    def find_lr(self, model: _Module, loss: Callable[..., Any] | None, optimizer: _Optimizer, train: Any, *, step: Any=None, start: builtins.float=1e-07, end: builtins.float=10.0, steps: builtins.int=100, smoothing: builtins.float=0.9, diverged: builtins.float=4.0) -> Any:
        """Tries learning rates from ``start`` to ``end`` (Smith, 2017), a step each, until the loss is ``diverged`` times its least. Returns an ``LRCurve``; the
        model, the optimizer and random numbers are afterwards what they were.

        >>> import unigrad as ug
        >>> ug.manual_seed(0) and None
        >>> x = ug.randn(64, 2)
        >>> model = ug.nn.Linear(2, 1)
        >>> optimizer = ug.optim.SGD(model.parameters(), lr=1.0)
        >>> curve = ug.Trainer().find_lr(model, ug.nn.MSELoss(), optimizer, [(x, x.sum(1, keepdim=True))], start=1e-4)
        >>> 1e-3 < curve.suggestion < 10.0
        True"""
        ...
    def find_batch_size(self, model: _Module, loss: Callable[..., Any] | None, optimizer: _Optimizer, make: Any, *, step: Any=None, most: builtins.int=65536) -> Any:
        """The greatest batch whose step fits into memory, by doubling up to ``most`` from what suits the device; ``make(n)`` makes a batch of
        ``n`` items. Returns ``BatchSizes``; the model, the optimizer and random numbers are afterwards what they were.

        >>> import unigrad as ug
        >>> model = ug.nn.Linear(2, 1)
        >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
        >>> found = ug.Trainer().find_batch_size(model, ug.nn.MSELoss(), optimizer, lambda n: (ug.randn(n, 2), ug.randn(n, 1)), most=8)
        >>> found.best
        8"""
        ...
