"""Where random orders come from."""

import random

from . import _check
from ._unigrad import Generator, randint


def _random(generator):
    """A source of random numbers: one that is given, of a seed, or of the library's own generator."""
    if isinstance(generator, random.Random):
        return generator
    if isinstance(generator, Generator):
        return random.Random(int(generator.randint(0, 2**31 - 1, (), device="cpu").item()))
    if generator is not None:
        return random.Random(_check.whole("generator", generator, 0))
    return random.Random(int(randint(0, 2**31 - 1, (), device="cpu").item()))


def _shuffled(n, source):
    order = list(range(n))
    source.shuffle(order)
    return order
