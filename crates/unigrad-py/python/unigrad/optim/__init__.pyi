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
from unigrad.optim.optimizer import Optimizer as Optimizer
from unigrad.optim.rules import ASGD as ASGD
from unigrad.optim.rules import Adadelta as Adadelta
from unigrad.optim.rules import Adafactor as Adafactor
from unigrad.optim.rules import Adagrad as Adagrad
from unigrad.optim.rules import Adam as Adam
from unigrad.optim.rules import AdamW as AdamW
from unigrad.optim.rules import AdamW8bit as AdamW8bit
from unigrad.optim.rules import AdamWScheduleFree as AdamWScheduleFree
from unigrad.optim.rules import Adamax as Adamax
from unigrad.optim.rules import Adan as Adan
from unigrad.optim.rules import LAMB as LAMB
from unigrad.optim.rules import LARS as LARS
from unigrad.optim.rules import LBFGS as LBFGS
from unigrad.optim.rules import Lion as Lion
from unigrad.optim.rules import Muon as Muon
from unigrad.optim.rules import NAdam as NAdam
from unigrad.optim.rules import RAdam as RAdam
from unigrad.optim.rules import RMSprop as RMSprop
from unigrad.optim.rules import Rprop as Rprop
from unigrad.optim.rules import SGD as SGD
from unigrad.optim.rules import SGDScheduleFree as SGDScheduleFree
from unigrad.optim.rules import Shampoo as Shampoo
from unigrad.optim.rules import Sophia as Sophia
from unigrad.optim.rules import SparseAdam as SparseAdam
from unigrad.optim.wrappers import Lookahead as Lookahead
from unigrad.optim.wrappers import SAM as SAM

from . import optimizer as optimizer
from . import lr_scheduler as lr_scheduler
from . import swa_utils as swa_utils
from . import rules as rules
from . import wrappers as wrappers
