"""Small complete models: what the command line trains, with the same names of parameters, so that its files load.

>>> import unigrad as ug
>>> model = ug.nn.models.MLP([4, 8, 3])
>>> model(ug.zeros(2, 4)).shape
(2, 3)
"""

from .gpt import GPT, GPTBlock, GPTConfig
from .images import CNN, MLP
from .sampling import Sampling

__all__ = ["CNN", "GPT", "GPTBlock", "GPTConfig", "MLP", "Sampling"]
