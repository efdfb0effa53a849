"""Datasets and loaders, over objects of Python, tensors and NumPy arrays.

>>> import unigrad as ug
>>> dataset = ug.data.TensorDataset(ug.arange(6).reshape(6, 1), ug.arange(6))
>>> loader = ug.data.DataLoader(dataset, batch_size=4)
>>> [(tuple(x.shape), y.tolist()) for x, y in loader]
[((4, 1), [0, 1, 2, 3]), ((2, 1), [4, 5])]
"""

from .datasets import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, digits, random_split
from .loader import DataLoader, default_collate
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler",
    "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "digits",
    "random_split",
]  # fmt: skip
