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

class SGD(Optimizer):
    """Stochastic gradient descent.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.SGD([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, momentum: builtins.float=0, dampening: builtins.float=0, weight_decay: builtins.float=0, nesterov: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adam([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, amsgrad: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None, decoupled_weight_decay: builtins.bool=False) -> None: ...
class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.AdamW([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0.01, amsgrad: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.NAdam([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.002, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, momentum_decay: builtins.float=0.004, decoupled_weight_decay: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class RAdam(Optimizer):
    """Rectified Adam (Liu et al., 2020).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.RAdam([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, decoupled_weight_decay: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adamax(Optimizer):
    """Adam with the greatest gradient.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adamax([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.002, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adagrad([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, lr_decay: builtins.float=0, weight_decay: builtins.float=0, initial_accumulator_value: builtins.float=0, eps: builtins.float=1e-10, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adadelta([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=1.0, rho: builtins.float=0.9, eps: builtins.float=1e-06, weight_decay: builtins.float=0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.RMSprop([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, alpha: builtins.float=0.99, eps: builtins.float=1e-08, weight_decay: builtins.float=0, momentum: builtins.float=0, centered: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Rprop(Optimizer):
    """Resilient backpropagation; for whole batches.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Rprop([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, etas: Sequence[builtins.float]=..., step_sizes: Sequence[builtins.float]=..., *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.ASGD([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, lambd: builtins.float=0.0001, alpha: builtins.float=0.75, t0: builtins.float=1000000.0, weight_decay: builtins.float=0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient as they are.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.SparseAdam([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class LBFGS(Optimizer):
    """L-BFGS (Liu and Nocedal, 1989): ``step(closure)`` evaluates the loss several times; for whole batches.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.LBFGS([w], lr=0.5)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = w.square().sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> w.abs().max().item() < 0.1
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=1, max_iter: builtins.int=20, max_eval: builtins.int | None=None, tolerance_grad: builtins.float=1e-07, tolerance_change: builtins.float=1e-09, history_size: builtins.int=100, line_search_fn: Any=None, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adafactor(Optimizer):
    """Second moments of a matrix as a row and a column (Shazeer and Stern, 2018).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adafactor([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, beta2_decay: builtins.float=-0.8, eps: Sequence[Any]=..., d: builtins.float=1.0, weight_decay: builtins.float=0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Muon(Optimizer):
    """Orthogonal steps for the matrices of hidden layers (Jordan, 2024): give it those alone.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2, 3))
    >>> optimizer = ug.optim.Muon([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, weight_decay: builtins.float=0.1, momentum: builtins.float=0.95, nesterov: builtins.bool=True, ns_coefficients: Sequence[builtins.float]=..., eps: builtins.float=1e-07, ns_steps: builtins.int=5, adjust_lr_fn: Any=None, precision: builtins.str='bf16', *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Lion(Optimizer):
    """Steps by the sign of the momentum (Chen et al., 2023).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Lion([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.0001, betas: Sequence[builtins.float]=..., weight_decay: builtins.float=0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Adan(Optimizer):
    """Adaptive Nesterov momentum (Xie et al., 2022).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Adan([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, no_prox: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class LARS(Optimizer):
    """Momentum with a step for each tensor that is a share of its norm (You et al., 2017).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.LARS([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.1, momentum: builtins.float=0.9, trust_coefficient: builtins.float=0.001, weight_decay: builtins.float=0, adapts_vectors: builtins.bool=False, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class LAMB(Optimizer):
    """Adam's step for each tensor, scaled to the tensor's norm (You et al., 2019).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.LAMB([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-06, weight_decay: builtins.float=0.01, bias_correction: builtins.bool=True, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class Sophia(Optimizer):
    """Steps by an estimate of the Hessian's diagonal (Liu et al., 2023), which ``update_hessian`` renews.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Sophia([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.0001, betas: Sequence[builtins.float]=..., rho: builtins.float=0.04, weight_decay: builtins.float=0.1, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
    def update_hessian(self, loss: Tensor, hutchinson: builtins.bool=True) -> Any:
        """Renews the estimate, every few steps: by the gradient of the gradient of ``loss``; or with ``hutchinson=False`` by the squares of the gradients of a
        loss whose labels are drawn from the model's own distribution."""
        ...
class Shampoo(Optimizer):
    """Preconditioned steps for each axis of a parameter (Gupta et al., 2018).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Shampoo([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.01, momentum: builtins.float=0, weight_decay: builtins.float=0, eps: builtins.float=0.0001, max_side: builtins.int=1024, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
class AdamWScheduleFree(Optimizer):
    """AdamW without a schedule (Defazio et al., 2024): call ``eval()`` before validation, ``train()`` after.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.AdamWScheduleFree([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.0025, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0, warmup_steps: builtins.int=0, r: builtins.float=0.0, weight_lr_power: builtins.float=2.0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
    def train(self) -> Any:
        """The parameters are those of training again."""
        ...
    def eval(self) -> Any:
        """The parameters are the averages, for use; a step is an error then."""
        ...
class SGDScheduleFree(Optimizer):
    """SGD without a schedule (Defazio et al., 2024): call ``eval()`` before validation, ``train()`` after.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.SGDScheduleFree([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=1.0, momentum: builtins.float=0.9, weight_decay: builtins.float=0, warmup_steps: builtins.int=0, r: builtins.float=0.0, weight_lr_power: builtins.float=2.0, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
    def train(self) -> Any:
        """The parameters are those of training again."""
        ...
    def eval(self) -> Any:
        """The parameters are the averages, for use; a step is an error then."""
        ...
class AdamW8bit(Optimizer):
    """AdamW whose moments take 8 bits a value (Dettmers et al., 2021).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.AdamW8bit([w], lr=0.1)
    >>> w.square().sum().backward()
    >>> optimizer.step()
    >>> w.max().item() < 1.0
    True"""
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], lr: builtins.float=0.001, betas: Sequence[builtins.float]=..., eps: builtins.float=1e-08, weight_decay: builtins.float=0.01, min_8bit_size: builtins.int=4096, *, maximize: builtins.bool=False, foreach: builtins.bool | None=None, capturable: builtins.bool | None=None, differentiable: builtins.bool | None=None, fused: builtins.bool | None=None) -> None: ...
