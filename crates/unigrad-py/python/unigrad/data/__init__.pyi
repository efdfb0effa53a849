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
from unigrad.data.datasets import CachedDataset as CachedDataset
from unigrad.data.datasets import ChainDataset as ChainDataset
from unigrad.data.datasets import ConcatDataset as ConcatDataset
from unigrad.data.datasets import Dataset as Dataset
from unigrad.data.datasets import IterableDataset as IterableDataset
from unigrad.data.datasets import MapDataset as MapDataset
from unigrad.data.datasets import StackDataset as StackDataset
from unigrad.data.datasets import Subset as Subset
from unigrad.data.datasets import TensorDataset as TensorDataset
from unigrad.data.datasets import digits as digits
from unigrad.data.datasets import random_split as random_split
from unigrad.data.images import CIFAR10 as CIFAR10
from unigrad.data.images import CIFAR100 as CIFAR100
from unigrad.data.images import FashionMNIST as FashionMNIST
from unigrad.data.images import ImageFolder as ImageFolder
from unigrad.data.images import MNIST as MNIST
from unigrad.data.images import PictureDataset as PictureDataset
from unigrad.data.images import decode_image as decode_image
from unigrad.data.images import read_image as read_image
from unigrad.data.loader import DataLoader as DataLoader
from unigrad.data.loader import WorkerInfo as WorkerInfo
from unigrad.data.loader import default_collate as default_collate
from unigrad.data.loader import default_convert as default_convert
from unigrad.data.loader import get_worker_info as get_worker_info
from unigrad.data.native import Csv as Csv
from unigrad.data.native import Picture as Picture
from unigrad.data.native import TableSchema as TableSchema
from unigrad.data.native import TokenVocabulary as TokenVocabulary
from unigrad.data.native import lines_of_file as lines_of_file
from unigrad.data.native import split_text as split_text
from unigrad.data.native import texts_of_table as texts_of_table
from unigrad.data.samplers import BalancedSampler as BalancedSampler
from unigrad.data.samplers import BatchSampler as BatchSampler
from unigrad.data.samplers import BucketBatchSampler as BucketBatchSampler
from unigrad.data.samplers import DistributedSampler as DistributedSampler
from unigrad.data.samplers import RandomSampler as RandomSampler
from unigrad.data.samplers import Sampler as Sampler
from unigrad.data.samplers import SequentialSampler as SequentialSampler
from unigrad.data.samplers import StratifiedSampler as StratifiedSampler
from unigrad.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from unigrad.data.samplers import WeightedRandomSampler as WeightedRandomSampler
from unigrad.data.sequences import LabelledTexts as LabelledTexts
from unigrad.data.sequences import PadSequences as PadSequences
from unigrad.data.sequences import TokenWindows as TokenWindows
from unigrad.data.sequences import table_dataset as table_dataset
from unigrad.data.splits import k_fold as k_fold
from unigrad.data.splits import stratified_split as stratified_split
from unigrad.data.splits import validation_split as validation_split

from . import transforms as transforms
from . import datasets as datasets
from . import images as images
from . import samplers as samplers
from . import loader as loader
from . import native as native
from . import sequences as sequences
from . import splits as splits
