# The ops of `Tensor`, made from the registry by `cargo xtask generate`.

from collections.abc import Sequence
from typing import Literal

Number = bool | int | float
Nested = Number | Sequence["Nested"]
Index = int | slice | None | "Tensor" | Sequence[int | slice | None | "Tensor"]

class DType: ...
class Device: ...

class Tensor:
    def abs(self) -> Tensor:
        """`|x|`; the gradient at 0 is 0."""
        ...

    def acos(self) -> Tensor:
        """Inverse cosine."""
        ...

    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch."""
        ...

    def adaptive_avg_pool(self, sizes: Sequence[int]) -> Tensor:
        """Averages over as many regions per spatial axis as asked: region `i` of `s` covers `floor(i * size / s) .. ceil((i + 1) * size / s)`."""
        ...

    def adaptive_max_pool(self, sizes: Sequence[int]) -> Tensor:
        """Maxima over as many regions per spatial axis as asked (see `adaptive_avg_pool`); the gradient goes to the first of equal ones."""
        ...

    def adaptive_max_pool_with_index(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Maxima over as many regions per spatial axis as asked, and where they are: row-major indices within the spatial axes. Of equal ones the
        first counts (see `adaptive_max_pool`)."""
        ...

    def add(self, other: Tensor | Number) -> Tensor:
        """Sum."""
        ...

    def addcdiv(self, a: Tensor, b: Tensor, value: Tensor | Number) -> Tensor:
        """`self + value * a / b`."""
        ...

    def addcmul(self, a: Tensor, b: Tensor, value: Tensor | Number) -> Tensor:
        """`self + value * a * b`."""
        ...

    def addmm(self, a: Tensor, b: Tensor) -> Tensor:
        """`self + a @ b`."""
        ...

    def addmm_with(self, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        """`alpha * a @ b + beta * self`."""
        ...

    def addmv(self, matrix: Tensor, vector: Tensor, beta: float, alpha: float) -> Tensor:
        """`alpha * matrix @ vector + beta * self`."""
        ...

    def addr(self, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        """`alpha * outer(a, b) + beta * self`."""
        ...

    def affine_grid(self, size: Sequence[int], align_corners: bool) -> Tensor:
        """The grid of affine maps for `grid_sample`: of `[n, 2, 3]` and a size `[n, c, h, w]` it is `[n, h, w, 2]`, of `[n, 3, 4]` and
        `[n, c, d, h, w]` it is `[n, d, h, w, 3]`. A place `(x, y, 1)` becomes its product with the matrix."""
        ...

    def all(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Whether all elements are true (not 0)."""
        ...

    def aminmax(self, dim: int | Sequence[int] | None = None) -> tuple[Tensor, Tensor]:
        """Both extremes over axes: the least and the greatest."""
        ...

    def any(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Whether any element is true (not 0)."""
        ...

    @staticmethod
    def arange(start: float, end: float, step: float, dtype: DType, device: Device) -> Tensor:
        """`start, start + step, …` below `end` (above, for a negative step). Of an integer dtype `start` and `step` are rounded toward 0 first, as in
        PyTorch, and there are as many numbers as `start`, `end` and `step` as given say. `F32` numbers are rounded once on the CPU."""
        ...

    def argmax(self, dim: int, keepdim: bool = False) -> Tensor:
        """Index (`I64`) of the first greatest element along an axis; a NaN counts as the greatest."""
        ...

    def argmax_all(self) -> Tensor:
        """Index (`I64`) of the first greatest of all elements, in row-major order."""
        ...

    def argmin(self, dim: int, keepdim: bool = False) -> Tensor:
        """Index (`I64`) of the first least element along an axis; a NaN counts as the least."""
        ...

    def argmin_all(self) -> Tensor:
        """Index (`I64`) of the first least of all elements, in row-major order."""
        ...

    def argsort(self, dim: int, descending: bool) -> Tensor:
        """Indices (`I64`) that sort an axis; equal elements keep their order, NaN is the greatest."""
        ...

    def asin(self) -> Tensor:
        """Inverse sine."""
        ...

    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
        ...

    def atan(self) -> Tensor:
        """Inverse tangent."""
        ...

    def atan2(self, other: Tensor | Number) -> Tensor:
        """The angle of the point `(other, self)`; at the origin its gradient is 0."""
        ...

    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
        ...

    def attention(self, k: Tensor, v: Tensor, *, causal: bool = ..., window: int | None = ..., bias: Tensor | None = ..., mask: Tensor | None = ..., scale: float | None = ..., dropout: float = ..., kv_len: Tensor | Number | None = ..., q_offset: Tensor | Number | None = ..., page_table: Tensor | None = ...) -> Tensor:
        """`softmax(scale * q kᵀ + bias) v`: self is q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`, the result `[b, h, t, e]`.

        `h` is a multiple of `g`: grouped queries. A query that sees nothing gives 0. The three may lack the batch axis together."""
        ...

    def avg_pool1d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Average of each window of `[n, c, l]`."""
        ...

    def avg_pool2d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Average of each window of `[n, c, h, w]`."""
        ...

    def avg_pool3d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Average of each window of `[n, c, d, h, w]`."""
        ...

    def avg_pool_with_divisor(self, n: int, divisor: int, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """`avg_pool` that divides each window's sum by `divisor` (PyTorch's `divisor_override`), which is not 0."""
        ...

    def baddbmm(self, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        """`alpha * a @ b + beta * self`, of batches of matrices."""
        ...

    def batch_norm(self, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """`[n, c, ..]` normalized per channel with given statistics `[c]`: batch norm when a model runs. Half types are computed in `f32`, with
        statistics in whatever dtype they have; with weights of `f32` they stay halves, as in PyTorch."""
        ...

    def batch_norm_train(self, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        """`[n, c, ..]` normalized per channel with the batch's own statistics: batch norm when a model learns.

        Also returns the mean and the biased variance, `[c]` each, cut off from gradients: what running statistics are updated with
        (PyTorch stores the unbiased variance: times `n / (n - 1)`). Those of half types are `f32`, which holds what they do not. Of a batch without
        elements they are NaN, and nothing should be updated with them. Halves with weights of `f32`, as under `crate::autocast()`, stay halves."""
        ...

    def bce_loss(self, target: Tensor) -> Tensor:
        """Binary cross-entropy of probabilities; logarithms count as at least -100, and `p (1 - p)`, by which the gradient is divided, as at least
        1e-12: so a prediction that is wrong and certain still learns."""
        ...

    def bce_with_logits(self, target: Tensor) -> Tensor:
        """Binary cross-entropy of logits: `bce(sigmoid(x))` without overflow."""
        ...

    def bilinear(self, other: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """`y[.., o] = self[.., i] weight[o, i, j] other[.., j] + bias[o]`."""
        ...

    def bincount(self, weights: Tensor | None, minlength: int) -> Tensor:
        """How often each of `0, 1, ..` occurs in a vector of integers, `I64`; with weights, the sum of the weights there, in their float dtype
        (PyTorch's is `f64` unless they are `f32`). As many counts as the greatest number needs, and at least `minlength`.

        Waits for the values: the length depends on them. Where the length is known, `zeros.scatter_add(0, &numbers, &ones)` waits for nothing."""
        ...

    def bitcast(self, dtype: DType) -> Tensor:
        """The same bits as a dtype of the same size."""
        ...

    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """And, of bools or of integers' bits."""
        ...

    def bitwise_not(self) -> Tensor:
        """`!` of bools, the complement of integers' bits."""
        ...

    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """Or, of bools or of integers' bits."""
        ...

    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """Exclusive or, of bools or of integers' bits."""
        ...

    @staticmethod
    def block_diag(tensors: Sequence[Tensor]) -> Tensor:
        """Matrices along the diagonal of one matrix, zeros elsewhere; vectors are rows, numbers are 1 by 1."""
        ...

    def bucketize(self, boundaries: Tensor, right: bool) -> Tensor:
        """Which interval between sorted `boundaries` each element is in, `I64`: `i` where `boundaries[i - 1] < x <= boundaries[i]`, or, with
        `right`, where `boundaries[i - 1] <= x < boundaries[i]`."""
        ...

    def cast(self, dtype: DType) -> Tensor:
        """As another dtype; the tensor itself if it has that. Floats to integers truncate toward zero and saturate: what is beyond the range,
        infinities too, becomes the least or greatest integer, and NaN 0, on every device (in PyTorch these are undefined). Integers to smaller
        ones keep the low bits. To `Bool`, whatever is not 0 is true."""
        ...

    def cdist(self, other: Tensor, p: float) -> Tensor:
        """Distances by the `p`-norm of all rows of `self` `[.., n, d]` from all rows of `other` `[.., m, d]`: `[.., n, m]`; batch axes broadcast.
        Where two rows are equal, the gradient is 0."""
        ...

    def ceil(self) -> Tensor:
        """Up to an integer; its gradient is 0."""
        ...

    def celu(self, alpha: float) -> Tensor:
        """`x` above 0, `alpha * (e^(x / alpha) - 1)` below (Barron, 2017): `elu` with a continuous derivative."""
        ...

    def channel_shuffle(self, groups: int) -> Tensor:
        """Channels of `[n, c, ..]` in another order: the first of each of `groups` groups, then the second of each, and so on."""
        ...

    def chunk(self, count: int, dim: int) -> list[Tensor]:
        """At most `count` parts of equal size along an axis; the last one may be smaller. Of an axis without elements they are `count` empty ones, as in PyTorch."""
        ...

    def clamp(self, low: Tensor | Number, high: Tensor | Number) -> Tensor:
        """Limits to `low..=high`; where a limit holds, and at a limit itself, the gradient is 0 (as in PyTorch from 2.15 on). Of a tensor as limit,
        equal ones share the gradient, as of `maximum`."""
        ...

    def col2im(self, sizes: Sequence[int], *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ...) -> Tensor:
        """Columns `[n, c * kernel, windows]` added up to `[n, c, sizes..]`, each where `im2col` takes it from: `torch.nn.functional.fold`, for
        one to three spatial axes."""
        ...

    @staticmethod
    def column_stack(tensors: Sequence[Tensor]) -> Tensor:
        """Vectors and numbers as columns, beside matrices: along axis 1."""
        ...

    @staticmethod
    def concat(tensors: Sequence[Tensor], dim: int) -> Tensor:
        """One after another along an axis; dtypes promote."""
        ...

    def contiguous(self) -> Tensor:
        """The tensor itself: a tensor is its values, and how they lie in memory is the compiler's business. For programs that come from
        libraries where it is not."""
        ...

    def conv1d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Convolution: x `[n, c, l]`, w `[o, c / groups, k]`."""
        ...

    def conv2d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Convolution: x `[n, c, h, w]`, w `[o, c / groups, kh, kw]`."""
        ...

    def conv3d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Convolution: x `[n, c, d, h, w]`, w `[o, c / groups, kd, kh, kw]`."""
        ...

    def conv_transpose1d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Transposed convolution: x `[n, c, l]`, w `[c, o / groups, k]`."""
        ...

    def conv_transpose2d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Transposed convolution: x `[n, c, h, w]`, w `[c, o / groups, kh, kw]`."""
        ...

    def conv_transpose3d(self, weight: Tensor, bias: Tensor | None = None, *, stride: Sequence[int] = ..., padding: Sequence[tuple[int, int]] = ..., dilation: Sequence[int] = ..., groups: int = ..., output_padding: Sequence[int] = ...) -> Tensor:
        """Transposed convolution: x `[n, c, d, h, w]`, w `[c, o / groups, kd, kh, kw]`."""
        ...

    def copysign(self, other: Tensor | Number) -> Tensor:
        """The magnitude of `self` with the sign of `other`, also of -0."""
        ...

    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables, which are the rows of a matrix, limited to -1 to 1."""
        ...

    def cos(self) -> Tensor:
        """Cosine."""
        ...

    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
        ...

    def cosine_embedding_loss(self, other: Tensor, target: Tensor, margin: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`1 - cos(x, other)` where the label is 1, `max(0, cos(x, other) - margin)` where it is -1. `[n, d]` and `[n]` labels, or `[d]` and one."""
        ...

    def cosine_similarity(self, other: Tensor, dim: int, eps: float) -> Tensor:
        """Cosine of the angle between two along an axis, after broadcasting; lengths count as at least `eps`."""
        ...

    def count_nonzero(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """How many elements are not 0, over axes; `I64`."""
        ...

    def cov(self, correction: int) -> Tensor:
        """The covariance of variables, which are the rows of a matrix `[variables, observations]` (a vector is one variable), divided by
        `observations - correction`, or by 0 where that is negative. Of one variable it is a number without axes."""
        ...

    def cov_with(self, correction: int, counts: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        """`cov` with weights of the observations, `[observations]` each: `counts`, integers, say how often each was made, and `weights`, floats, how
        much it counts. None is negative.

        With weights `w` (the product of both) the divisor is `sum(w) - correction * sum(w * weights) / sum(w)`."""
        ...

    def cross(self, other: Tensor, dim: int) -> Tensor:
        """The vector product along an axis of size 3; the other axes broadcast."""
        ...

    def cross_entropy(self, target: Tensor) -> Tensor:
        """Cross-entropy of logits, mean over all targets. Target: class indices (integers, the logits' shape without the class axis), or
        probabilities (floats, the logits' shape). Classes are on axis 1 (the last one of a matrix).

        A class index is in `0..classes`: negative ones are an error when it runs, but for the one that
        `CrossEntropyOptions::ignore_index` names (PyTorch ignores -100 without being told)."""
        ...

    def ctc_loss(self, labels: Tensor, n_steps: Tensor, n_labels: Tensor, *, blank: int = ..., reduction: Literal["mean", "sum", "none"] = ..., zero_infinity: bool = ...) -> Tensor:
        """The CTC loss of log probabilities `[steps, n, classes]` (as `log_softmax` gives them), labels `[n, longest]` (padded; without blanks), how many
        steps and how many labels of each example count (`[n]` each). Without a batch: `[steps, classes]`, `[longest]`, and two lengths of rank 0.

        A label out of `0..classes` among those that count is an error when it runs; lengths count as at most what there is."""
        ...

    def cummax(self, dim: int) -> Tensor:
        """Running maximum along an axis."""
        ...

    def cummax_with_index(self, dim: int) -> tuple[Tensor, Tensor]:
        """The greatest so far along an axis, and the index (`I64`) of its last occurrence; a NaN stays."""
        ...

    def cummin(self, dim: int) -> Tensor:
        """Running minimum along an axis."""
        ...

    def cummin_with_index(self, dim: int) -> tuple[Tensor, Tensor]:
        """The least so far along an axis, and the index (`I64`) of its last occurrence; a NaN stays."""
        ...

    def cumprod(self, dim: int) -> Tensor:
        """Running product along an axis; [off by at most](crate::accuracy) i u of itself after i elements. Its gradient is right where elements
        are 0, and NaN where one is infinite."""
        ...

    def cumsum(self, dim: int) -> Tensor:
        """Running sum along an axis. [Off by at most](crate::accuracy) 128 u · Σ|x| of the elements so far: as good at the end as at the start."""
        ...

    def cumulative_trapezoid(self, dx: float, dim: int) -> Tensor:
        """The running integral along an axis by the trapezoidal rule, with samples `dx` apart."""
        ...

    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
        ...

    def diag_embed(self) -> Tensor:
        """A matrix with the last axis on its diagonal."""
        ...

    def diag_embed_with(self, offset: int, dim1: int, axis2: int) -> Tensor:
        """The last axis as a diagonal, `offset` above the main one, of a matrix whose axes are the result's `axis1` and `axis2`; zeros elsewhere."""
        ...

    def diagflat(self, offset: int) -> Tensor:
        """A matrix with all elements, in row-major order, on a diagonal, `offset` above the main one."""
        ...

    def diagonal(self, offset: int, dim1: int, axis2: int) -> Tensor:
        """The diagonal of two axes, as a new last axis."""
        ...

    def dice_loss(self, target: Tensor, smooth: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`1 - (2 Σ x t + smooth) / (Σ x + Σ t + smooth)` of each example (axis 0), sums over all its elements: one minus the overlap of probabilities with
        a mask, after Dice."""
        ...

    def diff(self, n: int, dim: int) -> Tensor:
        """Differences of neighbours along an axis, `n` times over."""
        ...

    def digamma(self) -> Tensor:
        """Derivative of `UnaryOp::LGamma`; NaN at the negative integers. Its gradient is `UnaryOp::Trigamma`."""
        ...

    def div(self, other: Tensor | Number) -> Tensor:
        """Quotient; of integers `f32`."""
        ...

    def div_trunc(self, other: Tensor | Number) -> Tensor:
        """Quotient rounded toward zero; of integers by 0: 0. Its gradient is 0. See `floor_div` for the one rounded down."""
        ...

    def dot(self, other: Tensor) -> Tensor:
        """Inner product of two vectors."""
        ...

    @staticmethod
    def dstack(tensors: Sequence[Tensor]) -> Tensor:
        """One behind the other: along axis 2, with vectors `[n]` as `[1, n, 1]` and matrices `[m, n]` as `[m, n, 1]`."""
        ...

    @staticmethod
    def einsum(spec: str, operands: Sequence[Tensor]) -> Tensor:
        """Einstein summation: `Tensor::einsum("bij,bjk->bik", &[&a, &b])`.

        Letters name axes: a letter in several operands multiplies along it, a letter not in the result is summed over, a letter twice in
        one operand takes the diagonal, `...` stands for any axes, which broadcast. Without `->`, letters that occur once are the result's,
        in alphabetical order. Several operands are contracted from left to right."""
        ...

    def elu(self, alpha: float) -> Tensor:
        """`alpha * (e^x - 1)` below 0, `x` above."""
        ...

    def embedding(self, index: Tensor) -> Tensor:
        """Rows of a table `[entries, features]` by number, negative ones from the end (see `gather`): `[index.., features]`."""
        ...

    def embedding_bag(self, index: Tensor, *, mode: Literal["sum", "mean", "max"] = ..., offsets: Tensor | None = ..., include_last_offset: bool = ..., weights: Tensor | None = ..., padding_idx: int | None = ..., max_norm: float | None = ..., norm_type: float = ..., scale_grad_by_freq: bool = ...) -> Tensor:
        """The rows of each bag of numbers together: their sum, mean or maximum, `[bags, features]`. A bag is a row of a matrix `[bags, n]` of
        numbers, or what lies between two of the `offsets` in a vector, of which the first is 0, none is less than the one before it, and none is
        more than there are numbers (checked when they are computed). A bag without rows gives 0."""
        ...

    def embedding_with(self, index: Tensor, *, padding_idx: int | None = ..., max_norm: float | None = ..., norm_type: float = ..., scale_grad_by_freq: bool = ...) -> Tensor:
        """`embedding` with settings: a row without gradient, gradients by frequency, and rows of a limited norm, scaled by `max_norm / (norm + 1e-7)` where their
        norm is greater.

        The table stays as it is, and the gradient is that of the scaled rows. PyTorch writes the scaled rows into the table first, and
        hands the gradient on as it is."""
        ...

    def eq(self, other: Tensor | Number) -> Tensor:
        """Whether equal."""
        ...

    def erf(self) -> Tensor:
        """Error function."""
        ...

    def erfc(self) -> Tensor:
        """`1 - erf(x)`, with all digits where that is small."""
        ...

    def erfinv(self) -> Tensor:
        """Inverse of the error function: infinite at -1 and 1, NaN beyond."""
        ...

    def exp(self) -> Tensor:
        """`e^x`."""
        ...

    def exp2(self) -> Tensor:
        """`2^x`."""
        ...

    def expand(self, shape: int | Sequence[int]) -> Tensor:
        """Broadcast to a shape."""
        ...

    def expand_with(self, shape: int | Sequence[int]) -> Tensor:
        """As `expand`, where -1 keeps the size of an axis that is there."""
        ...

    def expm1(self) -> Tensor:
        """`e^x - 1`, exact near 0."""
        ...

    @staticmethod
    def eye(rows: int, columns: int, dtype: DType, device: Device) -> Tensor:
        """Ones on the diagonal of `rows` by `columns`."""
        ...

    def flatten(self, first: int, last: int) -> Tensor:
        """One axis instead of `first..=last`."""
        ...

    def flip(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """The axes in reverse order of elements."""
        ...

    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """Power in `f64`, whatever the dtype, as `torch.float_power`."""
        ...

    def floor(self) -> Tensor:
        """Down to an integer; its gradient is 0."""
        ...

    def floor_div(self, other: Tensor | Number) -> Tensor:
        """Quotient rounded toward negative infinity; of integers by 0: 0. Of floats as Python's `//` and PyTorch's `floor_divide`: what is left
        without `rem`, divided, so `1 // 0.1` is 9 and `-3 // inf` is -1. Its gradient is 0."""
        ...

    def fmax(self, other: Tensor | Number) -> Tensor:
        """The greater; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it."""
        ...

    def fmin(self, other: Tensor | Number) -> Tensor:
        """The lesser; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it."""
        ...

    def fmod(self, other: Tensor | Number) -> Tensor:
        """Remainder with the sign of `self`, as C's `fmod` and `torch.fmod`; of integers by 0: 0. See `rem` for Python's."""
        ...

    def focal_loss(self, target: Tensor, alpha: float, gamma: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """Binary cross-entropy of logits times `(1 - p)^gamma`, where `p` is the probability of the truth: what is known already counts little (Lin et al.,
        2017). `alpha` weighs ones against zeros (`1 - alpha`); below 0 it does not. As torchvision's `sigmoid_focal_loss`."""
        ...

    def fract(self) -> Tensor:
        """What is left after `trunc`."""
        ...

    @staticmethod
    def full(shape: int | Sequence[int], value: float, dtype: DType, device: Device) -> Tensor:
        """`value` in every element; a run-time value, so that another one does not need another plan. Integers leave the fraction out; a value that
        they do not hold is an error."""
        ...

    @staticmethod
    def full_int(shape: int | Sequence[int], value: int, dtype: DType, device: Device) -> Tensor:
        """`full` of an integer, of which all 64 bits count. In an unsigned dtype a negative one stands for what it is in two's complement, if its
        digits fit."""
        ...

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """`out[p] = self[p with p[axis] := index[p]]`, as PyTorch's: other sizes of the index are at most the tensor's. As in every op that takes
        positions, negative ones count from the end, as in NumPy (PyTorch refuses them here); beyond the axis they are an error when it runs.
        Labels are no positions: see `one_hot` and `cross_entropy`."""
        ...

    def gaussian_nll_loss(self, target: Tensor, var: Tensor, full: bool, eps: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`log(var) / 2 + (x - target)² / (2 var)`, and `log(2π) / 2` more if `full`: the negative log likelihood of targets from a Gaussian whose mean is
        `self` (Nix and Weigend, 1994). `var` is at least `eps`; its gradient is that of `var` all the same. It has the shape of `self`, or 1 on one
        axis, or no last axis; the target broadcasts."""
        ...

    def gcd(self, other: Tensor | Number) -> Tensor:
        """Greatest common divisor of integers; of 0 and 0 it is 0."""
        ...

    def ge(self, other: Tensor | Number) -> Tensor:
        """Whether greater or equal."""
        ...

    def gelu(self) -> Tensor:
        """`x * (1 + erf(x / sqrt 2)) / 2`; at -inf its limit 0 (PyTorch: NaN)."""
        ...

    def gelu_tanh(self) -> Tensor:
        """The tanh approximation of `UnaryOp::Gelu`."""
        ...

    def glu(self, dim: int) -> Tensor:
        """One half of an axis times the sigmoid of the other (Dauphin et al., 2017); the axis has an even size."""
        ...

    def grid_sample(self, grid: Tensor, *, mode: Literal["linear", "nearest", "cubic"] = ..., padding: Literal["zeros", "border", "reflection"] = ..., align_corners: bool = ...) -> Tensor:
        """Samples of `[n, c, h, w]` at the places of a grid `[n, out.., 2]`, which holds `(x, y)` between -1 and 1: `[n, c, out..]`. Or of
        `[n, c, d, h, w]` by a grid of `(x, y, z)`, as `torch.nn.functional.grid_sample`; also of `[n, c, l]`.

        Places that are NaN give 0 (PyTorch's CPU: NaN). Where a place is clipped, its gradient is 0. Integers compute in `f32`."""
        ...

    def group_norm(self, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """Layer norm of `[n, c, ..]` within each of `groups` groups of channels; weight and bias are `[c]`."""
        ...

    def gt(self, other: Tensor | Number) -> Tensor:
        """Whether greater."""
        ...

    def hardshrink(self, lambda_: float) -> Tensor:
        """0 within `lambda` of 0, else `x`. Of NaN the gradient is 0."""
        ...

    def hardsigmoid(self) -> Tensor:
        """`relu6(x + 3) / 6`."""
        ...

    def hardswish(self) -> Tensor:
        """`x * relu6(x + 3) / 6`."""
        ...

    def hardtanh(self) -> Tensor:
        """`min(max(x, -1), 1)`; integers stay what they are. At the limits, and of NaN, the gradient is 0."""
        ...

    def hardtanh_with(self, low: float, high: float) -> Tensor:
        """`min(max(x, low), high)`; at the limits, and of NaN, the gradient is 0. `hardtanh` is that of -1 and 1.

        Integers stay what they are, with limits rounded toward 0, those below what the dtype holds at its least number; bools have none at all."""
        ...

    def heaviside(self, at_zero: Tensor | Number) -> Tensor:
        """0 below 0, 1 above, `at_zero` at 0; NaN gives 0, as in PyTorch. Its gradients are 0."""
        ...

    def hinge_embedding_loss(self, target: Tensor, margin: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`x` where the label is 1, `max(0, margin - x)` where it is -1; both for other labels: `x` is a distance.
        Distances and labels broadcast."""
        ...

    def histc(self, bins: int, low: float, high: float) -> Tensor:
        """How many elements are in each of `bins` intervals of equal width between `low` and `high`, of which the last one holds `high` too; in the
        tensor's float dtype. Elements outside, and NaN, count nowhere. Equal bounds stand for the least and the greatest element (then
        all counts are 0 if one of them is not finite), and one more on both sides if these are equal."""
        ...

    @staticmethod
    def hstack(tensors: Sequence[Tensor]) -> Tensor:
        """Side by side: along axis 1, or axis 0 of vectors and numbers."""
        ...

    def huber_loss(self, target: Tensor, delta: float) -> Tensor:
        """`d² / 2` where `|d| <= delta`, `delta * (|d| - delta / 2)` beyond; mean over all, in this tensor's float dtype."""
        ...

    def hypot(self, other: Tensor | Number) -> Tensor:
        """`sqrt(self² + other²)`, without overflow; its gradient at 0, 0 is 0 (PyTorch: NaN)."""
        ...

    def i(self, index: Index) -> Tensor:
        """A part of the tensor by index, as in NumPy: numbers, ranges, `step`, `NewAxis`, `Ellipsis`, tensors of numbers, and masks
        (which wait for the host, see `nonzero`)."""
        ...

    def im2col(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ...) -> Tensor:
        """The windows of `[n, c, spatial..]` as columns: `[n, c * kernel, windows]`, what a convolution multiplies its weights with.
        `torch.nn.functional.unfold`, for one to three spatial axes. (`unfold` is PyTorch's method of that name: windows along one axis.)"""
        ...

    def index_add(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`self` with slices of `src` added to the slices that a vector of numbers names."""
        ...

    def index_copy(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`self` with slices of `src` in place of the slices that a vector of numbers names."""
        ...

    def index_fill(self, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
        """`self` with `value` in the slices along an axis that a vector of numbers names. The value is a number or a tensor of rank 0, and
        takes the tensor's dtype. Its gradient is the sum over all places it is at (PyTorch counts a place twice that is named twice)."""
        ...

    def index_put(self, index: Index, values: Tensor, accumulate: bool) -> Tensor:
        """`self` with `values` in the part that an index names, as `i` takes it; `values` broadcast to the part. With `accumulate` they
        are added, also where places repeat; without it the last one stays.

        A mask in the index waits for the mask's values (see `nonzero`)."""
        ...

    def index_reduce(self, dim: int, index: Tensor, src: Tensor, mode: Literal["sum", "prod", "mean", "max", "min"], include_self: bool) -> Tensor:
        """`scatter_reduce` of slices along an axis, by a vector of numbers."""
        ...

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        """Slices along an axis by numbers, negative ones from the end (see `gather`); an index of several axes puts them in place of
        the axis."""
        ...

    def inner(self, other: Tensor) -> Tensor:
        """The sum of products over both last axes; with a number, the product with it."""
        ...

    def instance_norm(self, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """Layer norm of `[n, c, ..]` within each channel; weight and bias are `[c]`. With running statistics, as when a model runs, it is
        `batch_norm`; `instance_norm_train` gives what they are updated with."""
        ...

    def instance_norm_train(self, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        """`instance_norm`, with the means and the biased variances of each channel, averaged over the batch and cut off from gradients:
        `[c]` each, what running statistics are updated with (PyTorch stores the unbiased variance: times `n / (n - 1)` for `n` spatial elements).
        Those of half types are `f32`."""
        ...

    def interpolate(self, *, mode: Literal["nearest", "nearest_exact", "linear", "cubic", "area"] = ..., sizes: Sequence[int] = ..., scales: Sequence[float] = ..., align_corners: bool = ..., antialias: bool = ...) -> Tensor:
        """The spatial axes of `[n, c, spatial..]` in other sizes, as `torch.nn.functional.interpolate`. `Nearest` and `NearestExact` keep the dtype; the
        others give floats.

        With scale factors, elements are as far apart as the factors say, also where a size was rounded. `Cubic` takes any number of axes
        (PyTorch's `bicubic` two)."""
        ...

    def interpolate_nearest(self, sizes: Sequence[int]) -> Tensor:
        """Nearest-neighbour resize of the trailing spatial axes of `[n, c, spatial..]`."""
        ...

    def isclose(self, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
        """Whether `|self - other| <= atol + rtol * |other|`, or both are NaN with `equal_nan`, or equal."""
        ...

    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor NaN."""
        ...

    def isin(self, among: Tensor | Number) -> Tensor:
        """Whether each element is among others: a tensor of any shape, or a number."""
        ...

    def isin_with(self, among: Tensor | Number, invert: bool) -> Tensor:
        """`isin`, or with `invert` whether it is not."""
        ...

    def isinf(self) -> Tensor:
        """Whether each element is infinite."""
        ...

    def isnan(self) -> Tensor:
        """Whether each element is NaN."""
        ...

    def kl_div(self, target: Tensor, log_target: bool, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """Kullback-Leibler divergence from log probabilities `self` to `target`: `t * (log t - x)`, 0 where `t` is 0, and there the gradient with
        respect to `t` is `-x` (PyTorch: NaN).

        With `log_target`, the target is log probabilities too. The mathematical mean is `Reduction::Sum` divided by the batch."""
        ...

    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: every element of `self` times the whole of `other`."""
        ...

    def kthvalue(self, k: int, dim: int) -> tuple[Tensor, Tensor]:
        """The `k`-th least element along an axis, counted from 1, and its index (`I64`)."""
        ...

    def l1_loss(self, target: Tensor) -> Tensor:
        """Mean of `|x - target|`."""
        ...

    def layer_norm(self, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """`(x - mean) / sqrt(var + eps) * weight + bias` over the last axes, as many as `weight` (or `bias`) has; the last one without both."""
        ...

    def layer_norm_over(self, shape: int | Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """`layer_norm` over the last axes, which have this shape; so have weight and bias, if they are given."""
        ...

    def lcm(self, other: Tensor | Number) -> Tensor:
        """Least common multiple of integers, not negative; of 0 and anything it is 0."""
        ...

    def le(self, other: Tensor | Number) -> Tensor:
        """Whether less or equal."""
        ...

    def leaky_relu(self, slope: float) -> Tensor:
        """`x` above 0, `slope * x` below."""
        ...

    def lerp(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """`self + weight * (end - self)`; exactly `end` where the weight is 1."""
        ...

    def lgamma(self) -> Tensor:
        """Logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers. Its gradient is
         `UnaryOp::Digamma`."""
        ...

    def linear(self, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """`x @ wᵀ + bias` with w `[out, in]` and bias `[out]`, as PyTorch's `linear`."""
        ...

    @staticmethod
    def linspace(start: float, end: float, count: int, dtype: DType, device: Device) -> Tensor:
        """`count` evenly spaced numbers, `start` and `end` included; of an integer dtype rounded toward 0, as the ends are first."""
        ...

    def local_response_norm(self, size: int, alpha: float, beta: float, k: float) -> Tensor:
        """`x / (k + alpha * mean(x²))^beta` of `[n, c, ..]`, the mean over a window of `size` channels around each, of which those outside count
        as 0 (Krizhevsky et al., 2012)."""
        ...

    def log(self) -> Tensor:
        """Natural logarithm."""
        ...

    def log10(self) -> Tensor:
        """Logarithm to base 10."""
        ...

    def log1p(self) -> Tensor:
        """`log(1 + x)`, exact near 0."""
        ...

    def log2(self) -> Tensor:
        """Logarithm to base 2."""
        ...

    def log_sigmoid(self) -> Tensor:
        """`log(sigmoid(x))`, without overflow."""
        ...

    def log_softmax(self, dim: int) -> Tensor:
        """`log(softmax(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more."""
        ...

    def logaddexp(self, other: Tensor | Number) -> Tensor:
        """`log(e^self + e^other)`, without overflow."""
        ...

    def logaddexp2(self, other: Tensor | Number) -> Tensor:
        """`log2(2^self + 2^other)`, without overflow."""
        ...

    def logcumsumexp(self, dim: int) -> Tensor:
        """Logarithm of the running sum of exponentials along an axis, without overflow; [off by at most](crate::accuracy)
        4 i u · max(1, |yᵢ|) after i elements."""
        ...

    def logical_and(self, other: Tensor | Number) -> Tensor:
        """Whether both are true (not 0)."""
        ...

    def logical_not(self) -> Tensor:
        """Whether each element is 0 (`!` of its truth)."""
        ...

    def logical_or(self, other: Tensor | Number) -> Tensor:
        """Whether one or both are true (not 0)."""
        ...

    def logical_xor(self, other: Tensor | Number) -> Tensor:
        """Whether one, but not both, is true (not 0)."""
        ...

    def logit(self, eps: float | None = None) -> Tensor:
        """`log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside of 0 to 1. With `eps`, `x` is limited to `eps..=1 - eps` first."""
        ...

    @staticmethod
    def logspace(start: float, end: float, count: int, base: float, dtype: DType, device: Device) -> Tensor:
        """`base` to the powers of `linspace`; of an integer dtype rounded toward 0, as the ends are first."""
        ...

    def logsumexp(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """`log(sum(exp(x)))`, without overflow. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more."""
        ...

    def lt(self, other: Tensor | Number) -> Tensor:
        """Whether less."""
        ...

    def margin_ranking_loss(self, other: Tensor, target: Tensor, margin: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`max(0, margin - y (x - other))` with labels `y` of ±1: `self` should be ranked above `other` where `y` is 1, below where it is -1. They have
        as many axes each, and broadcast."""
        ...

    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """Stops or scales nothing on the way forward; `value` where `mask` is true. The mask broadcasts. A number that the tensor's integer dtype does not hold
        is an error."""
        ...

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """`self` with the elements of `source`, in row-major order, where `mask` is true; the two broadcast. Nothing is read: too few elements
        are an error when it runs."""
        ...

    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where a mask (which broadcasts) is true, as a vector. Waits for the mask: the length depends on it."""
        ...

    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product `[.., m, k] @ [.., k, n]`; batch axes broadcast, a vector is a row on the left and a column on the right."""
        ...

    def max(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """The greatest over axes, NaN if there is one. Equal ones share the gradient."""
        ...

    def max_pool1d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Maximum of each window of `[n, c, l]`."""
        ...

    def max_pool2d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Maximum of each window of `[n, c, h, w]`."""
        ...

    def max_pool3d(self, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """Maximum of each window of `[n, c, d, h, w]`."""
        ...

    def max_pool_with_index(self, n: int, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> tuple[Tensor, Tensor]:
        """Maximum of each window over `n` spatial dimensions, and where it is: row-major indices within the spatial axes."""
        ...

    def max_unpool1d(self, index: Tensor, output: Sequence[int] | None = None, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """`max_unpool` over one spatial axis."""
        ...

    def max_unpool2d(self, index: Tensor, output: Sequence[int] | None = None, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """`max_unpool` over two spatial axes."""
        ...

    def max_unpool3d(self, index: Tensor, output: Sequence[int] | None = None, *, kernel: Sequence[int] = ..., stride: Sequence[int] = ..., padding: Sequence[int] = ..., dilation: Sequence[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., divisor_override: int | None = ...) -> Tensor:
        """`max_unpool` over three spatial axes."""
        ...

    def max_with_index(self, dim: int) -> tuple[Tensor, Tensor]:
        """The greatest elements along an axis, and their indices; the gradient goes to the first of equal ones."""
        ...

    def maximum(self, other: Tensor | Number) -> Tensor:
        """The greater; NaN if either is. Where both are equal, each gets half of the gradient."""
        ...

    def mean(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Mean over axes; NaN of no elements. [Off by at most](crate::accuracy) 130 u · mean |x|."""
        ...

    def median(self, dim: int) -> tuple[Tensor, Tensor]:
        """The median along an axis, the lesser of the middle two, and its index (`I64`); NaN where there is one."""
        ...

    @staticmethod
    def meshgrid(vectors: Sequence[Tensor]) -> list[Tensor]:
        """A grid of coordinates from vectors (or numbers): one tensor per vector, each with an axis per vector (`ij` order)."""
        ...

    @staticmethod
    def meshgrid_xy(vectors: Sequence[Tensor]) -> list[Tensor]:
        """As `meshgrid`, with the first two axes of each grid exchanged (`xy` order, as in images)."""
        ...

    def min(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """The least over axes, NaN if there is one. Equal ones share the gradient."""
        ...

    def min_with_index(self, dim: int) -> tuple[Tensor, Tensor]:
        """The least elements along an axis, and their indices; the gradient goes to the first of equal ones."""
        ...

    def minimum(self, other: Tensor | Number) -> Tensor:
        """The lesser; NaN if either is. Where both are equal, each gets half of the gradient."""
        ...

    def mish(self) -> Tensor:
        """`x * tanh(softplus(x))`."""
        ...

    def mode(self, dim: int) -> tuple[Tensor, Tensor]:
        """The most frequent value along an axis, the least of equally frequent ones, and the index (`I64`) of its last occurrence."""
        ...

    def movedim(self, from_: int, to: int) -> Tensor:
        """Axis `from` moves to place `to`; the others keep their order."""
        ...

    def movedims(self, sources: int | Sequence[int], targets: int | Sequence[int]) -> Tensor:
        """The axes `sources`, in their order, to the places `targets`; the others keep theirs. A tensor of rank 0 has none, but 0 and -1 may be named."""
        ...

    def mse_loss(self, target: Tensor) -> Tensor:
        """Mean of `(x - target)²`. As in all losses of two tensors, their shapes are equal: PyTorch broadcasts, with a warning, and so makes
        `[n, 1]` and `[n]` `n * n` differences."""
        ...

    def mul(self, other: Tensor | Number) -> Tensor:
        """Product, element by element."""
        ...

    @staticmethod
    def multi_dot(matrices: Sequence[Tensor]) -> Tensor:
        """The product of several matrices in the order of least work; the first and the last may be vectors."""
        ...

    def multi_margin_loss(self, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """How far other classes come within `margin` of the right one, to the power `p` (1 or 2), over the number of classes: `[n, classes]` and `[n]`
        class indices, or `[classes]` and one. A weight per class multiplies what its examples lose."""
        ...

    def multilabel_margin_loss(self, target: Tensor, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """How far classes that are no targets come within 1 of those that are, over the number of classes: `[n, classes]`, and class indices of the same
        shape, of which those before the first -1 count; or one row of both."""
        ...

    def multilabel_soft_margin_loss(self, target: Tensor, weight: Tensor | None, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """Binary cross-entropy of logits with 0 or 1 for each class, mean over the classes (the last axis). A weight per class multiplies."""
        ...

    def nan_to_num(self, nan: float, positive: float | None = None, negative: float | None = None) -> Tensor:
        """NaN becomes `nan`, infinities become `positive` and `negative`, which are the greatest and least finite numbers of the dtype unless given.
        What is replaced gets no gradient."""
        ...

    def nanmean(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Mean over axes (`()`: all) of what is not NaN; NaN where there is nothing else."""
        ...

    def nanmedian(self, dim: int) -> tuple[Tensor, Tensor]:
        """As `median`, of what is not NaN."""
        ...

    def nanquantile(self, q: float, dim: int, interpolation: Literal["linear", "lower", "higher", "nearest", "midpoint"]) -> Tensor:
        """As `quantile`, of what is not NaN."""
        ...

    def nansum(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Sum over axes (`()`: all) of what is not NaN."""
        ...

    def narrow(self, dim: int, start: int, len: int) -> Tensor:
        """`len` elements of an axis from `start` on. Of an axis with a name (`crate::Dim`) this is a part of a fixed length, which has no name; what is
        as long as the axis but for some elements is `x.i(1..)`, or `x.i(..-1)`."""
        ...

    def ne(self, other: Tensor | Number) -> Tensor:
        """Whether different."""
        ...

    def neg(self) -> Tensor:
        """`-x`."""
        ...

    def nextafter(self, other: Tensor | Number) -> Tensor:
        """The next number of the dtype on the way to `other`. Its gradient is 1 with respect to `self` where the two differ, else 0."""
        ...

    def nll_loss(self, target: Tensor) -> Tensor:
        """Negative log likelihood of log probabilities, mean over all targets (class indices). Classes are on axis 1; see
        `cross_entropy` for which indices there are."""
        ...

    def nonzero(self) -> Tensor:
        """Positions of the elements that are true (not 0): `[count, rank]`, `I64`, in row-major order.

        Waits for the values: the shape depends on them."""
        ...

    def norm(self, p: float, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """The `p`-norm over axes: `(sum |x|^p)^(1/p)`; infinite `p` is the greatest (least) absolute value, 0 counts what is not 0.
        [Off by at most](crate::accuracy) 256 u of itself.

        The gradient is 0 where the norm is 0, of `p` below 1 also at each 0, and of `p` = 0 everywhere; equal extremes share it."""
        ...

    def normalize(self, p: float, dim: int, eps: float) -> Tensor:
        """Divided by the `p`-norm along an axis, which counts as at least `eps`."""
        ...

    def nrm2(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """The root of the sum of squares, as BLAS has it: where `norm` overflows or underflows on the way, it does not. Of zeros its gradient
        is 0. [Off by at most](crate::accuracy) 4 n u of itself for n elements."""
        ...

    def one_hot(self, classes: int) -> Tensor:
        """1 at the class, 0 elsewhere, `I64`: `[.., classes]` of integers `[..]` in `0..classes`; others, negative ones too, are an error when it
        runs."""
        ...

    def outer(self, other: Tensor) -> Tensor:
        """Every element of one vector times every element of the other: `[n, m]`."""
        ...

    def pad_or_cut(self, pads: Sequence[tuple[int, int]], mode: Literal["reflect", "replicate", "circular"] | float) -> Tensor:
        """As `pad_with`; a negative number cuts as many elements."""
        ...

    def pad_with(self, pads: Sequence[tuple[int, int]], mode: Literal["reflect", "replicate", "circular"] | float) -> Tensor:
        """As `pad`, with what `mode` says."""
        ...

    def paged_update(self, update: Tensor, page_table: Tensor, start: Tensor) -> Tensor:
        """A cache in pages, `[pages, page size, heads, features]`, with new rows (`update`, `[b, length, heads, features]`): row `i` of sequence `b`
        goes to position `start + i` of its keys, which is slot `position % page size` of the page that `page_table` (integers
        `[b, most pages]`) has at `[b, position / page size]`.

        `start` is an integer, or a vector with one for each sequence. A position beyond the table or a page that does not exist is an error
        when it runs. Of several rows for one slot the last one stays. An assignment (`cache.assign(&cache.paged_update(..))`) writes the rows in place;
        what reads the new cache in the same evaluation reads a copy, so evaluate the assignment first."""
        ...

    def pairwise_distance(self, other: Tensor, p: float, eps: float) -> Tensor:
        """The `p`-norm of `self - other + eps` over the last axis; the two broadcast. Where it is 0, its gradient is 0."""
        ...

    def permute(self, order: int | Sequence[int]) -> Tensor:
        """Axis `i` of the result is axis `order[i]`."""
        ...

    def pixel_shuffle(self, r: int) -> Tensor:
        """Channels as pixels: `[.., c * r * r, h, w]` becomes `[.., c, h * r, w * r]`, so that `out[c, h r + i, w r + j]` is channel
        `(c r + i) r + j` (Shi et al., 2016)."""
        ...

    def pixel_unshuffle(self, r: int) -> Tensor:
        """Pixels as channels, the way back from `pixel_shuffle`: `[.., c, h * r, w * r]` becomes `[.., c * r * r, h, w]`."""
        ...

    def poisson_nll_loss(self, target: Tensor, log_input: bool, full: bool, eps: float, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`e^x - target x` where `self` is the logarithm of a rate (`log_input`), else `x - target log(x + eps)`: the negative log likelihood of counts, without
        the term that only depends on them; `full` adds it as Stirling's formula has it, for targets above 1."""
        ...

    def pow(self, exponent: Tensor | Number) -> Tensor:
        """Power. Small integers and ½ as a Rust number become multiplications and square roots; any other exponent is a run-time value.
        Integers to a negative whole number are an error: their powers are no integers.

        With respect to a tensor as exponent the gradient is 0 where the base is 0 and the exponent is not negative. Where an exponent is 0, the
        mixed second derivative is `1 / base` (PyTorch: 0)."""
        ...

    def prelu(self, weight: Tensor) -> Tensor:
        """`x` above 0, `weight * x` below: one weight, or one for each channel (axis 1; of a vector, axis 0)."""
        ...

    def prod(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Product over axes. [Off by at most](crate::accuracy) n u of itself for n elements."""
        ...

    def put(self, index: Tensor, values: Tensor, accumulate: bool) -> Tensor:
        """`self` with `values` at places by their row-major number, one for each; with `accumulate` they are added."""
        ...

    def quantile(self, q: float, dim: int, interpolation: Literal["linear", "lower", "higher", "nearest", "midpoint"]) -> Tensor:
        """The `q`-quantile along an axis, `q` from 0 to 1; NaN where there is one. Integers become `f32`."""
        ...

    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
        ...

    def recip(self) -> Tensor:
        """`1 / x`."""
        ...

    def relu(self) -> Tensor:
        """`max(x, 0)`; NaN stays NaN; the gradient at 0 is 0."""
        ...

    def relu6(self) -> Tensor:
        """`min(max(x, 0), 6)`."""
        ...

    def rem(self, other: Tensor | Number) -> Tensor:
        """Remainder with the divisor's sign, as Python's `%`; of integers by 0: 0."""
        ...

    def repeat(self, times: Sequence[int]) -> Tensor:
        """Another name for `tile`."""
        ...

    def repeat_interleave(self, times: int, dim: int) -> Tensor:
        """Each element `times` times in a row along an axis."""
        ...

    def repeat_interleave_by(self, counts: Tensor, dim: int) -> Tensor:
        """Each slice along an axis as often as `counts` says, a vector with a count for each (or one for all). Waits for the counts: the size
        depends on them."""
        ...

    def reshape(self, shape: int | Sequence[int]) -> Tensor:
        """The same elements in row-major order; one size may be -1 and is found out."""
        ...

    def rms_norm(self, weight: Tensor | None, eps: float) -> Tensor:
        """`x / sqrt(mean(x²) + eps) * weight` over the last axes, as many as `weight` has; the last one without."""
        ...

    def roll(self, shift: int, dim: int) -> Tensor:
        """Elements move along an axis by `shift`; what leaves at one end comes in at the other."""
        ...

    def roll_axes(self, shifts: Sequence[int], dim: int | Sequence[int]) -> Tensor:
        """`roll` along several axes, each by its own shift."""
        ...

    def rope(self, cos: Tensor, sin: Tensor, layout: Literal["interleaved", "half_split"]) -> Tensor:
        """Rotates pairs of the last axis's features by angles: cos and sin are `[.., length, features / 2]` and broadcast (Su et al., 2021)."""
        ...

    def rot90(self, times: int, dim: tuple[int, int]) -> Tensor:
        """Turned by `times` right angles, from the first of two axes toward the second."""
        ...

    def round(self) -> Tensor:
        """To the nearest integer, ties to even; its gradient is 0."""
        ...

    def round_decimals(self, decimals: int) -> Tensor:
        """To `decimals` digits after the point (negative: before it), ties to even; its gradient is 0."""
        ...

    def rpow(self, base: float) -> Tensor:
        """`base` to the power of each element."""
        ...

    def rsqrt(self) -> Tensor:
        """`1 / sqrt(x)`."""
        ...

    def scatter(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`self` with `src` put in where `index` says: `out[p with p[axis] := index[p]] = src[p]`. Negative ones count from the end (see
        `gather`)."""
        ...

    def scatter_add(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """`self` with `src` added where `index` says."""
        ...

    def scatter_reduce(self, dim: int, index: Tensor, src: Tensor, mode: Literal["sum", "prod", "mean", "max", "min"], include_self: bool) -> Tensor:
        """`self` with the values of `src` that go to one place combined, and with what is there if `include_self`; places that nothing goes to
        stay. `out[p with p[axis] := index[p]]` is the sum, product, mean, maximum or minimum of `src[p]`.

        Equal extremes share the gradient. Sums and products of half types are made in `f32`."""
        ...

    def scatter_value(self, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
        """`scatter` of one value: a number, or a tensor of rank 0."""
        ...

    def searchsorted(self, values: Tensor | Number, right: bool) -> Tensor:
        """Where each of the values would be put into a sorted sequence, `I64`: before equal elements, or, with `right`, after them.

        The sequence is a vector `[n]`, and the values have any shape; or it has sorted rows `[.., n]`, and the values `[.., m]` as many.
        Nothing checks that it is sorted."""
        ...

    def searchsorted_with(self, values: Tensor | Number, right: bool, sorter: Tensor) -> Tensor:
        """`searchsorted` in a tensor that is not sorted itself: `sorter`, integers of its shape, says which of its elements is where along the
        last axis, as `argsort` does."""
        ...

    def select(self, dim: int, i: int) -> Tensor:
        """Slice `i` along an axis (negative: from the end), without the axis."""
        ...

    def selu(self) -> Tensor:
        """`scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017)."""
        ...

    def shl(self, other: Tensor | Number) -> Tensor:
        """Shift to the left."""
        ...

    def shr(self, other: Tensor | Number) -> Tensor:
        """Shift to the right; the sign stays."""
        ...

    def sigmoid(self) -> Tensor:
        """`1 / (1 + e^-x)`."""
        ...

    def sign(self) -> Tensor:
        """-1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0."""
        ...

    def signbit(self) -> Tensor:
        """Whether the sign is set, also of -0 and NaN."""
        ...

    def silu(self) -> Tensor:
        """`x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN)."""
        ...

    def sin(self) -> Tensor:
        """Sine."""
        ...

    def sinc(self) -> Tensor:
        """`sin(πx) / (πx)`, 1 at 0."""
        ...

    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
        ...

    def smooth_l1_loss(self, target: Tensor, beta: float) -> Tensor:
        """`huber_loss` divided by `beta`."""
        ...

    def soft_margin_loss(self, target: Tensor, reduction: Literal["mean", "sum", "none"]) -> Tensor:
        """`log(1 + e^(-y x))` with labels `y` of ±1, without overflow."""
        ...

    def softmax(self, dim: int) -> Tensor:
        """`exp(x) / sum(exp(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself."""
        ...

    def softmin(self, dim: int) -> Tensor:
        """`softmax(-x)` along an axis."""
        ...

    def softplus(self) -> Tensor:
        """`log(1 + e^x)`, without overflow."""
        ...

    def softplus_with(self, beta: float, threshold: float) -> Tensor:
        """`log(1 + e^(beta x)) / beta`, and `x` itself where `beta x` is above `threshold`."""
        ...

    def softshrink(self, lambda_: float) -> Tensor:
        """Toward 0 by `lambda`, and 0 within it. Of NaN the gradient is 0."""
        ...

    def softsign(self) -> Tensor:
        """`x / (1 + |x|)`."""
        ...

    def sort(self, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
        """An axis sorted, and the indices (`I64`) that sort it."""
        ...

    def split(self, size: int, dim: int) -> list[Tensor]:
        """Parts of `size` elements along an axis; the last one may be smaller."""
        ...

    def split_at(self, places: int | Sequence[int], dim: int) -> list[Tensor]:
        """Parts along an axis that begin at 0 and at each of `places`, which are cut at the end of the axis; negative ones count from there. A place
        before the last one gives an empty part."""
        ...

    def split_sizes(self, sizes: Sequence[int], dim: int) -> list[Tensor]:
        """Parts of the given sizes, which add up to the axis's."""
        ...

    def sqrt(self) -> Tensor:
        """Square root."""
        ...

    def square(self) -> Tensor:
        """`x * x`; of bools `I64`."""
        ...

    def squeeze(self, dim: int) -> Tensor:
        """Without this axis, which has size 1 (PyTorch leaves an axis of another size as it is). A tensor of rank 0 stays."""
        ...

    def squeeze_axes(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Without those of the named axes that have size 1."""
        ...

    @staticmethod
    def stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
        """Along a new axis; shapes are equal, dtypes promote."""
        ...

    def std(self, dim: int | Sequence[int] | None, correction: int, keepdim: bool = False) -> Tensor:
        """The square root of `var`; where all are equal, its gradient is 0. [Off by at most](crate::accuracy) 256 u of itself and
        256 u · mean |x|."""
        ...

    def sub(self, other: Tensor | Number) -> Tensor:
        """Difference."""
        ...

    def sum(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Sum over axes (`()`: all). [Off by at most](crate::accuracy) 128 u · Σ|x|, however many elements there are."""
        ...

    def take(self, index: Tensor) -> Tensor:
        """Elements by their row-major number, in the index's shape."""
        ...

    def take_along(self, dim: int, index: Tensor) -> Tensor:
        """As `gather`, but sizes beside the axis broadcast (NumPy's `take_along_axis`)."""
        ...

    def tan(self) -> Tensor:
        """Tangent."""
        ...

    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
        ...

    def tanhshrink(self) -> Tensor:
        """`x - tanh(x)`."""
        ...

    def tensor_split(self, count: int, dim: int) -> list[Tensor]:
        """`count` parts along an axis, of sizes that differ by at most one, the larger ones first."""
        ...

    def tensordot(self, other: Tensor, dim: int | Sequence[int], other_axes: int | Sequence[int]) -> Tensor:
        """The sum of products over axes of both, in the order they are named: `[rest of self.., rest of other..]`."""
        ...

    def threshold(self, threshold: Tensor | Number, value: Tensor | Number) -> Tensor:
        """`x` above `threshold`, else `value`."""
        ...

    def tile(self, times: Sequence[int]) -> Tensor:
        """The whole tensor `times[i]` times along axis `i` (missing leading entries: new axes)."""
        ...

    def topk(self, k: int, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
        """The `k` greatest (or least) along an axis, best first, and their indices (`I64`)."""
        ...

    def trace(self) -> Tensor:
        """Sum of the main diagonal of a matrix."""
        ...

    def transpose(self, a: int, b: int) -> Tensor:
        """Two axes change places."""
        ...

    def trapezoid(self, dx: float, dim: int) -> Tensor:
        """The integral along an axis by the trapezoidal rule, with samples `dx` apart."""
        ...

    def trigamma(self) -> Tensor:
        """Second derivative of `UnaryOp::LGamma`; infinite at 0 and the negative integers."""
        ...

    def tril(self, diagonal: int) -> Tensor:
        """Zero above diagonal `diagonal` of the last two axes (0: the main one, positive: above it)."""
        ...

    @staticmethod
    def tril_indices(rows: int, columns: int, diagonal: int, device: Device) -> Tensor:
        """Row and column numbers of the elements on and below a diagonal of `rows` by `columns` (see `tril`), in row-major order:
        `[2, count]`, `I64`."""
        ...

    def triplet_margin_loss(self, positive: Tensor, negative: Tensor, *, margin: float = ..., p: float = ..., eps: float = ..., swap: bool = ..., reduction: Literal["mean", "sum", "none"] = ...) -> Tensor:
        """`max(0, margin - d(x, positive) - d(x, negative))` over the last axis: the anchor `self` should be nearer to the positive than to the negative
        by the margin."""
        ...

    def triu(self, diagonal: int) -> Tensor:
        """Zero below diagonal `diagonal` of the last two axes."""
        ...

    @staticmethod
    def triu_indices(rows: int, columns: int, diagonal: int, device: Device) -> Tensor:
        """Row and column numbers of the elements on and above a diagonal of `rows` by `columns` (see `triu`), in row-major order:
        `[2, count]`, `I64`."""
        ...

    def trunc(self) -> Tensor:
        """Toward zero; its gradient is 0."""
        ...

    def unbind(self, dim: int) -> list[Tensor]:
        """The slices along an axis, without it; one invalid tensor if there is no such axis."""
        ...

    def unflatten(self, dim: int, sizes: int | Sequence[int]) -> Tensor:
        """Axis `axis` becomes several, of these sizes (one may be -1)."""
        ...

    def unfold(self, dim: int, size: int, step: int) -> Tensor:
        """Sliding windows along an axis: it becomes the number of windows, and a new last axis runs within a window."""
        ...

    def unique(self) -> Tensor:
        """The different values, ascending. Waits for the values: the length depends on them."""
        ...

    def unique_consecutive(self) -> tuple[Tensor, Tensor, Tensor]:
        """The first of each run of equal elements, in row-major order; which run each element is in, in the tensor's shape; and how long each is. The latter
        two are `I64`. Waits for the values: the length depends on them."""
        ...

    def unique_consecutive_slices(self, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        """As `unique_consecutive`, of slices along an axis, with vectors of runs and lengths. Slices have elements."""
        ...

    def unique_slices(self, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        """The different slices along an axis, in the order of their elements; which of them each slice is; and how many slices each of them is, vectors of
        `I64`. Slices have elements. Waits for the values: the length depends on them."""
        ...

    def unique_with(self) -> tuple[Tensor, Tensor, Tensor]:
        """The different values, ascending; which of them each element is, in the tensor's shape; and how many elements each of them is. The
        latter two are `I64`. Each NaN is a value of its own. Waits for the values: the length depends on them."""
        ...

    def unsqueeze(self, dim: int) -> Tensor:
        """With a new axis of size 1 at this place."""
        ...

    def var(self, dim: int | Sequence[int] | None, correction: int, keepdim: bool = False) -> Tensor:
        """The variance, divided by `n - correction` (1: the unbiased estimate, 0: of the population). [Off by at most](crate::accuracy)
        256 u of itself and (256 u · mean |x|)²."""
        ...

    def var_with(self, dim: int | Sequence[int] | None, correction: float) -> Tensor:
        """The variance with any correction: the sum of squares is divided by `n - correction`, or by 0 where that is negative. See `var`."""
        ...

    @staticmethod
    def vstack(tensors: Sequence[Tensor]) -> Tensor:
        """One above the other: along axis 0, with vectors and numbers as rows."""
        ...

    def where_(self, yes: Tensor | Number, no: Tensor | Number) -> Tensor:
        """`self` where true, else `other`: element by element, all three broadcast. `self` is `Bool` (or is cast to it)."""
        ...

    def xlog1py(self, other: Tensor | Number) -> Tensor:
        """`self * log(1 + other)`, and 0 where `self` is 0, whatever the logarithm."""
        ...

    def xlogy(self, other: Tensor | Number) -> Tensor:
        """`self * log(other)`, and 0 where `self` is 0, whatever the logarithm."""
        ...

