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
from unigrad.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from unigrad.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from unigrad.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from unigrad.optim.lr_scheduler.cycles import WarmupCosineLR as WarmupCosineLR
from unigrad.optim.lr_scheduler.cycles import WarmupStableDecayLR as WarmupStableDecayLR
from unigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from unigrad.optim.lr_scheduler.rates import ConstantLR as ConstantLR
from unigrad.optim.lr_scheduler.rates import CosineAnnealingLR as CosineAnnealingLR
from unigrad.optim.lr_scheduler.rates import ExponentialLR as ExponentialLR
from unigrad.optim.lr_scheduler.rates import LambdaLR as LambdaLR
from unigrad.optim.lr_scheduler.rates import LinearLR as LinearLR
from unigrad.optim.lr_scheduler.rates import MultiStepLR as MultiStepLR
from unigrad.optim.lr_scheduler.rates import MultiplicativeLR as MultiplicativeLR
from unigrad.optim.lr_scheduler.rates import PolynomialLR as PolynomialLR
from unigrad.optim.lr_scheduler.rates import StepLR as StepLR
from unigrad.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from unigrad.optim.lr_scheduler.several import ChainedScheduler as ChainedScheduler
from unigrad.optim.lr_scheduler.several import SequentialLR as SequentialLR

from . import scheduler as scheduler
from . import cycles as cycles
from . import plateau as plateau
from . import rates as rates
from . import several as several
