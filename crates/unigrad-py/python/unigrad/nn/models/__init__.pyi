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
from unigrad.nn.models.gpt import GPT as GPT
from unigrad.nn.models.gpt import GPTBlock as GPTBlock
from unigrad.nn.models.gpt import GPTConfig as GPTConfig
from unigrad.nn.models.images import CNN as CNN
from unigrad.nn.models.images import MLP as MLP
from unigrad.nn.models.sampling import Sampling as Sampling

from . import sampling as sampling
from . import gpt as gpt
from . import images as images
