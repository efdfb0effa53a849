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
from unigrad.data.datasets import ChainDataset as ChainDataset
from unigrad.data.datasets import ConcatDataset as ConcatDataset
from unigrad.data.datasets import Dataset as Dataset
from unigrad.data.datasets import IterableDataset as IterableDataset
from unigrad.data.datasets import StackDataset as StackDataset
from unigrad.data.datasets import Subset as Subset
from unigrad.data.datasets import TensorDataset as TensorDataset
from unigrad.data.datasets import digits as digits
from unigrad.data.datasets import random_split as random_split
from unigrad.data.loader import DataLoader as DataLoader
from unigrad.data.loader import default_collate as default_collate
from unigrad.data.samplers import BatchSampler as BatchSampler
from unigrad.data.samplers import RandomSampler as RandomSampler
from unigrad.data.samplers import Sampler as Sampler
from unigrad.data.samplers import SequentialSampler as SequentialSampler
from unigrad.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from unigrad.data.samplers import WeightedRandomSampler as WeightedRandomSampler

from . import datasets as datasets
from . import samplers as samplers
from . import loader as loader
