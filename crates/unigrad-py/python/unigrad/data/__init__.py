"""Datasets and loaders, over objects of Python, tensors and NumPy arrays.

>>> import unigrad as ug
>>> dataset = ug.data.TensorDataset(ug.arange(6).reshape(6, 1), ug.arange(6))
>>> loader = ug.data.DataLoader(dataset, batch_size=4)
>>> [(tuple(x.shape), y.tolist()) for x, y in loader]
[((4, 1), [0, 1, 2, 3]), ((2, 1), [4, 5])]
"""

from . import transforms
from .datasets import (
    CachedDataset,
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    MapDataset,
    StackDataset,
    Subset,
    TensorDataset,
    digits,
    random_split,
)
from .images import CIFAR10, CIFAR100, MNIST, FashionMNIST, ImageFolder, PictureDataset, decode_image, read_image
from .loader import DataLoader, WorkerInfo, default_collate, default_convert, get_worker_info
from .native import Csv, Picture, TableSchema, TokenVocabulary, lines_of_file, split_text, texts_of_table
from .samplers import (
    BalancedSampler,
    BatchSampler,
    BucketBatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StratifiedSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .sequences import LabelledTexts, PadSequences, TokenWindows, table_dataset
from .splits import k_fold, stratified_split, validation_split

__all__ = [
    "CIFAR10", "CIFAR100", "MNIST", "BalancedSampler", "BatchSampler", "BucketBatchSampler", "CachedDataset", "ChainDataset", "ConcatDataset", "Csv",
    "DataLoader", "Dataset", "DistributedSampler", "FashionMNIST", "ImageFolder", "IterableDataset", "LabelledTexts", "MapDataset", "PadSequences",
    "Picture", "PictureDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "StratifiedSampler", "Subset", "SubsetRandomSampler",
    "TableSchema", "TensorDataset", "TokenVocabulary", "TokenWindows", "WeightedRandomSampler", "WorkerInfo", "decode_image", "default_collate",
    "default_convert", "digits", "get_worker_info", "k_fold",
    "lines_of_file", "random_split", "read_image", "split_text", "stratified_split", "table_dataset", "texts_of_table", "transforms", "validation_split",
]  # fmt: skip
