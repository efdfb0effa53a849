//! The ops that Python calls as Rust does: made from the table of methods by `cargo xtask generate`.

use super::{PyTensor, made, tuple};
use crate::{
    arguments::{Ints, Other, PyAxes, Sizes, dim_or_axis, of_argument, one_dim},
    dtype::PyDType,
    error::argument,
};
use pyo3::{prelude::*, types::PyTuple};
use unigrad::tensor::{
    AttentionOptions, BagMode, CtcOptions, EmbeddingBagOptions, EmbeddingOptions, GridMode, GridPadding, GridSampleOptions, Interpolation,
    Reduction, RopeLayout, ScatterReduce, TripletOptions,
};

#[pymethods]
#[expect(clippy::too_many_arguments, reason = "settings are keywords")]
impl PyTensor {
    /// `|x|`; the gradient at 0 is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-2.0, 3.0]).abs()
    /// tensor([2., 3.])
    fn abs(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().abs())
    }

    /// Inverse cosine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.0, 1.0]).acos()
    /// tensor([1.5708, 0.0000])
    fn acos(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().acos())
    }

    /// Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).acosh()
    /// tensor([1.7627, 2.2924])
    fn acosh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().acosh())
    }

    /// Averages over as many regions per spatial axis as asked: region `i` of `s` covers `floor(i * size / s) .. ceil((i + 1) * size / s)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).adaptive_avg_pool((2,))
    /// tensor([[0.5000, 1.5000]])
    #[pyo3(signature = (sizes))]
    fn adaptive_avg_pool(&self, py: Python<'_>, sizes: Sizes) -> PyResult<PyTensor> {
        made(py, || self.tensor().adaptive_avg_pool(&sizes.0))
    }

    /// Maxima over as many regions per spatial axis as asked (see `adaptive_avg_pool`); the gradient goes to the first of equal ones.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).adaptive_max_pool((2,))
    /// tensor([[1., 2.]])
    #[pyo3(signature = (sizes))]
    fn adaptive_max_pool(&self, py: Python<'_>, sizes: Sizes) -> PyResult<PyTensor> {
        made(py, || self.tensor().adaptive_max_pool(&sizes.0))
    }

    /// Maxima over as many regions per spatial axis as asked, and where they are: row-major indices within the spatial axes. Of equal ones the
    /// first counts (see `adaptive_max_pool`).
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).adaptive_max_pool_with_index((2,))]
    /// [[[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 1]]]
    #[pyo3(signature = (sizes))]
    fn adaptive_max_pool_with_index<'py>(&self, py: Python<'py>, sizes: Sizes) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, || {
            let (part_0, part_1) = self.tensor().adaptive_max_pool_with_index(&sizes.0);
            vec![part_0, part_1]
        })
    }

    /// `self + value * tensor1 / tensor2`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).addcdiv(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
    /// tensor([0.8333, 2.5000])
    #[pyo3(signature = (tensor1, tensor2, value=Other::ONE))]
    fn addcdiv(&self, py: Python<'_>, tensor1: &PyTensor, tensor2: &PyTensor, value: Other) -> PyResult<PyTensor> {
        let given_2 = value.beside(py, self.tensor())?;
        made(py, || self.tensor().addcdiv(tensor1.tensor(), tensor2.tensor(), given_2))
    }

    /// `self + value * tensor1 * tensor2`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).addcmul(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
    /// tensor([ 3.5000, 10.0000])
    #[pyo3(signature = (tensor1, tensor2, value=Other::ONE))]
    fn addcmul(&self, py: Python<'_>, tensor1: &PyTensor, tensor2: &PyTensor, value: Other) -> PyResult<PyTensor> {
        let given_2 = value.beside(py, self.tensor())?;
        made(py, || self.tensor().addcmul(tensor1.tensor(), tensor2.tensor(), given_2))
    }

    /// `alpha * mat @ vec + beta * self`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).addmv(unigrad.ones(2, 2), unigrad.tensor([1.0, 1.0]))
    /// tensor([2.5000, 4.0000])
    #[pyo3(signature = (mat, vec, beta=1.0, alpha=1.0))]
    fn addmv(&self, py: Python<'_>, mat: &PyTensor, vec: &PyTensor, beta: f64, alpha: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().addmv(mat.tensor(), vec.tensor(), beta, alpha))
    }

    /// `alpha * outer(vec1, vec2) + beta * self`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).addr(unigrad.tensor([1.0, 2.0]), unigrad.tensor([1.0, 2.0])).shape
    /// (2, 2)
    #[pyo3(signature = (vec1, vec2, beta=1.0, alpha=1.0))]
    fn addr(&self, py: Python<'_>, vec1: &PyTensor, vec2: &PyTensor, beta: f64, alpha: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().addr(vec1.tensor(), vec2.tensor(), beta, alpha))
    }

    /// The grid of affine maps for `grid_sample`: of `[n, 2, 3]` and a size `[n, c, h, w]` it is `[n, h, w, 2]`, of `[n, 3, 4]` and
    /// `[n, c, d, h, w]` it is `[n, d, h, w, 3]`. A place `(x, y, 1)` becomes its product with the matrix.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]).affine_grid((1, 1, 2, 2), True).shape
    /// (1, 2, 2, 2)
    #[pyo3(signature = (size, align_corners))]
    fn affine_grid(&self, py: Python<'_>, size: Sizes, align_corners: bool) -> PyResult<PyTensor> {
        made(py, || self.tensor().affine_grid(&size.0, align_corners))
    }

    /// Inverse sine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.0, 1.0]).asin()
    /// tensor([0.0000, 1.5708])
    fn asin(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().asin())
    }

    /// Inverse hyperbolic sine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).asinh()
    /// tensor([0.4812, 1.4436])
    fn asinh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().asinh())
    }

    /// Inverse tangent.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).atan()
    /// tensor([0.4636, 1.1071])
    fn atan(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().atan())
    }

    /// The angle of the point `(other, self)`; at the origin its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).atan2(2.0)
    /// tensor([0.2450, 0.7854])
    #[pyo3(signature = (other))]
    fn atan2(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().atan2(given_0))
    }

    /// Inverse hyperbolic tangent.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.0, 0.5]).atanh()
    /// tensor([0.0000, 0.5493])
    fn atanh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().atanh())
    }

    /// `softmax(scale * q kᵀ + bias) v`: self is q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`, the result `[b, h, t, e]`.
    ///
    /// `h` is a multiple of `g`: grouped queries. A query that sees nothing gives 0. The three may lack the batch axis together.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 1, 2, 4).attention(unigrad.ones(1, 1, 3, 4), unigrad.ones(1, 1, 3, 4)).shape
    /// (1, 1, 2, 4)
    #[pyo3(signature = (k, v, *, causal=None, window=None, bias=None, mask=None, scale=None, dropout=None, kv_len=None, q_offset=None, page_table=None))]
    fn attention(
        &self,
        py: Python<'_>,
        k: &PyTensor,
        v: &PyTensor,
        causal: Option<bool>,
        window: Option<usize>,
        bias: Option<&PyTensor>,
        mask: Option<&PyTensor>,
        scale: Option<f64>,
        dropout: Option<f64>,
        kv_len: Option<Other>,
        q_offset: Option<Other>,
        page_table: Option<&PyTensor>,
    ) -> PyResult<PyTensor> {
        let mut options = AttentionOptions::default();
        if let Some(causal) = causal {
            options.causal = causal;
        }
        if let Some(window) = window {
            options.window = Some(window);
        }
        if let Some(bias) = bias {
            options.bias = Some(bias.tensor().clone());
        }
        if let Some(mask) = mask {
            options.mask = Some(mask.tensor().clone());
        }
        if let Some(scale) = scale {
            options.scale = Some(scale);
        }
        if let Some(dropout) = dropout {
            options.dropout = dropout;
        }
        if let Some(kv_len) = kv_len {
            options.kv_len = Some(kv_len.beside(py, self.tensor())?);
        }
        if let Some(q_offset) = q_offset {
            options.q_offset = Some(q_offset.beside(py, self.tensor())?);
        }
        if let Some(page_table) = page_table {
            options.page_table = Some(page_table.tensor().clone());
        }
        made(py, || self.tensor().attention(k.tensor(), v.tensor(), &options))
    }

    /// `alpha * batch1 @ batch2 + beta * self`, of batches of matrices.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).baddbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
    /// (2, 2, 3)
    #[pyo3(signature = (batch1, batch2, beta=1.0, alpha=1.0))]
    fn baddbmm(&self, py: Python<'_>, batch1: &PyTensor, batch2: &PyTensor, beta: f64, alpha: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().baddbmm(batch1.tensor(), batch2.tensor(), beta, alpha))
    }

    /// `[n, c, ..]` normalized per channel with given statistics `[c]`: batch norm when a model runs. Half types are computed in `f32`, with
    /// statistics in whatever dtype they have; with weights of `f32` they stay halves, as in PyTorch.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3, 4).batch_norm(unigrad.zeros(3), unigrad.ones(3), None, None, 1e-5).shape
    /// (2, 3, 4)
    #[pyo3(signature = (mean, var, weight, bias, eps))]
    fn batch_norm(
        &self,
        py: Python<'_>,
        mean: &PyTensor,
        var: &PyTensor,
        weight: Option<&PyTensor>,
        bias: Option<&PyTensor>,
        eps: f64,
    ) -> PyResult<PyTensor> {
        made(py, || self.tensor().batch_norm(mean.tensor(), var.tensor(), weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps))
    }

    /// `[n, c, ..]` normalized per channel with the batch's own statistics: batch norm when a model learns.
    ///
    /// Also returns the mean and the biased variance, `[c]` each, cut off from gradients: what running statistics are updated with
    /// (PyTorch stores the unbiased variance: times `n / (n - 1)`). Those of half types are `f32`, which holds what they do not. Of a batch without
    /// elements they are NaN, and nothing should be updated with them. Halves with weights of `f32`, as under `crate::autocast()`, stay halves.
    ///
    /// >>> import unigrad
    /// >>> [part.shape for part in unigrad.ones(1, 2, 4).batch_norm_train(unigrad.tensor([1.0, 2.0]), None, 1e-5)]
    /// [(1, 2, 4), (2,), (2,)]
    #[pyo3(signature = (weight, bias, eps))]
    fn batch_norm_train<'py>(
        &self,
        py: Python<'py>,
        weight: Option<&PyTensor>,
        bias: Option<&PyTensor>,
        eps: f64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, || {
            let (part_0, part_1, part_2) = self.tensor().batch_norm_train(weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps);
            vec![part_0, part_1, part_2]
        })
    }

    /// `y[.., o] = self[.., i] weight[o, i, j] other[.., j] + bias[o]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bilinear(unigrad.tensor([1.0, 3.0]), unigrad.ones(1, 2, 2))
    /// tensor([10.])
    #[pyo3(signature = (other, weight, bias=None))]
    fn bilinear(&self, py: Python<'_>, other: &PyTensor, weight: &PyTensor, bias: Option<&PyTensor>) -> PyResult<PyTensor> {
        made(py, || self.tensor().bilinear(other.tensor(), weight.tensor(), bias.map(PyTensor::tensor)))
    }

    /// The same bits as a dtype of the same size.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bitcast(unigrad.int32)
    /// tensor([1056964608, 1073741824], dtype=unigrad.int32)
    #[pyo3(signature = (dtype))]
    fn bitcast(&self, py: Python<'_>, dtype: PyDType) -> PyResult<PyTensor> {
        made(py, || self.tensor().bitcast(dtype.0))
    }

    /// And, of bools or of integers' bits.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).bitwise_and(unigrad.tensor([1, 2]))
    /// tensor([1, 0])
    #[pyo3(signature = (other))]
    fn bitwise_and(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().bitwise_and(given_0))
    }

    /// `!` of bools, the complement of integers' bits.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).bitwise_not()
    /// tensor([-4, -6])
    fn bitwise_not(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().bitwise_not())
    }

    /// Or, of bools or of integers' bits.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).bitwise_or(unigrad.tensor([1, 2]))
    /// tensor([3, 7])
    #[pyo3(signature = (other))]
    fn bitwise_or(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().bitwise_or(given_0))
    }

    /// Exclusive or, of bools or of integers' bits.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).bitwise_xor(unigrad.tensor([1, 2]))
    /// tensor([2, 7])
    #[pyo3(signature = (other))]
    fn bitwise_xor(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().bitwise_xor(given_0))
    }

    /// Up to an integer; its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).ceil()
    /// tensor([1., 2.])
    fn ceil(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().ceil())
    }

    /// `x` above 0, `alpha * (e^(x / alpha) - 1)` below (Barron, 2017): `elu` with a continuous derivative.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).celu()
    /// tensor([3., 5.])
    #[pyo3(signature = (alpha=1.0))]
    fn celu(&self, py: Python<'_>, alpha: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().celu(alpha))
    }

    /// Channels of `[n, c, ..]` in another order: the first of each of `groups` groups, then the second of each, and so on.
    ///
    /// >>> import unigrad
    /// >>> unigrad.arange(4).reshape(1, 4, 1).channel_shuffle(2).flatten()
    /// tensor([0, 2, 1, 3])
    #[pyo3(signature = (groups))]
    fn channel_shuffle(&self, py: Python<'_>, groups: usize) -> PyResult<PyTensor> {
        made(py, || self.tensor().channel_shuffle(groups))
    }

    /// The tensor itself: a tensor is its values, and how they lie in memory is the compiler's business. For programs that come from
    /// libraries where it is not.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).contiguous()
    /// tensor([0.5000, 2.0000])
    fn contiguous(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().contiguous())
    }

    /// The magnitude of `self` with the sign of `other`, also of -0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).copysign(2.0)
    /// tensor([3., 5.])
    #[pyo3(signature = (other))]
    fn copysign(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().copysign(given_0))
    }

    /// Cosine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cos()
    /// tensor([ 0.8776, -0.4161])
    fn cos(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().cos())
    }

    /// Hyperbolic cosine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cosh()
    /// tensor([1.1276, 3.7622])
    fn cosh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().cosh())
    }

    /// `1 - cos(x, other)` where the label is 1, `max(0, cos(x, other) - margin)` where it is -1. `[n, d]` and `[n]` labels, or `[d]` and one.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).cosine_embedding_loss(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]]), unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3764)
    #[pyo3(signature = (other, target, margin=0.0, reduction="mean"))]
    fn cosine_embedding_loss(
        &self,
        py: Python<'_>,
        other: &PyTensor,
        target: &PyTensor,
        margin: f64,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let given_3 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().cosine_embedding_loss(other.tensor(), target.tensor(), margin, given_3))
    }

    /// Cosine of the angle between two along an axis, after broadcasting; lengths count as at least `eps`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cosine_similarity(unigrad.tensor([1.0, 3.0]), dim=0)
    /// tensor(0.9971)
    #[pyo3(signature = (other, dim=None, eps=1e-8, *, axis=None))]
    fn cosine_similarity(&self, py: Python<'_>, other: &PyTensor, dim: Option<isize>, eps: f64, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(1);
        made(py, || self.tensor().cosine_similarity(other.tensor(), dim, eps))
    }

    /// The vector product along an axis of size 3; the other axes broadcast.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-1.0, 0.0, 2.0]).cross(unigrad.tensor([1.0, 0.0, 2.0]))
    /// tensor([0., 4., -0.])
    #[pyo3(signature = (other, dim=None, *, axis=None))]
    fn cross(&self, py: Python<'_>, other: &PyTensor, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().cross(other.tensor(), dim))
    }

    /// The CTC loss of log probabilities `[steps, n, classes]` (as `log_softmax` gives them), labels `[n, longest]` (padded; without blanks), how many
    /// steps and how many labels of each example count (`[n]` each). Without a batch: `[steps, classes]`, `[longest]`, and two lengths of rank 0.
    ///
    /// A label out of `0..classes` among those that count is an error when it runs; lengths count as at most what there is.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(4, 3).log_softmax(-1).ctc_loss(unigrad.tensor([1, 2]), unigrad.tensor(4), unigrad.tensor(2))
    /// tensor(0.8432)
    #[pyo3(signature = (labels, n_steps, n_labels, *, blank=None, reduction=None, zero_infinity=None))]
    fn ctc_loss(
        &self,
        py: Python<'_>,
        labels: &PyTensor,
        n_steps: &PyTensor,
        n_labels: &PyTensor,
        blank: Option<usize>,
        reduction: Option<&str>,
        zero_infinity: Option<bool>,
    ) -> PyResult<PyTensor> {
        let mut options = CtcOptions::default();
        if let Some(blank) = blank {
            options.blank = blank;
        }
        if let Some(reduction) = reduction {
            options.reduction = of_argument(py, "reduction", named_reduction(py, reduction))?;
        }
        if let Some(zero_infinity) = zero_infinity {
            options.zero_infinity = zero_infinity;
        }
        made(py, || self.tensor().ctc_loss(labels.tensor(), n_steps.tensor(), n_labels.tensor(), &options))
    }

    /// The running integral along an axis by the trapezoidal rule, with samples `dx` apart.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cumulative_trapezoid()
    /// tensor([1.2500])
    #[pyo3(signature = (dx=1.0, dim=None, *, axis=None))]
    fn cumulative_trapezoid(&self, py: Python<'_>, dx: f64, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().cumulative_trapezoid(dx, dim))
    }

    /// Degrees as radians.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).deg2rad()
    /// tensor([0.0087, 0.0349])
    fn deg2rad(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().deg2rad())
    }

    /// `1 - (2 Σ x t + smooth) / (Σ x + Σ t + smooth)` of each example (axis 0), sums over all its elements: one minus the overlap of probabilities with
    /// a mask, after Dice.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).dice_loss(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]]))
    /// tensor(0.2000)
    #[pyo3(signature = (target, smooth=1.0, reduction="mean"))]
    fn dice_loss(&self, py: Python<'_>, target: &PyTensor, smooth: f64, reduction: &str) -> PyResult<PyTensor> {
        let given_2 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().dice_loss(target.tensor(), smooth, given_2))
    }

    /// Derivative of `UnaryOp::LGamma`; NaN at the negative integers. Its gradient is `UnaryOp::Trigamma`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).digamma()
    /// tensor([-1.9635,  0.4228])
    fn digamma(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().digamma())
    }

    /// Inner product of two vectors.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).dot(unigrad.tensor([1.0, 3.0]))
    /// tensor(6.5000)
    #[pyo3(signature = (other))]
    fn dot(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().dot(other.tensor()))
    }

    /// `alpha * (e^x - 1)` below 0, `x` above.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).elu()
    /// tensor([3., 5.])
    #[pyo3(signature = (alpha=1.0))]
    fn elu(&self, py: Python<'_>, alpha: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().elu(alpha))
    }

    /// Rows of a table `[entries, features]` by number, negative ones from the end (see `gather`): `[index.., features]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding(unigrad.tensor([1])).tolist()
    /// [[3.0, 4.0]]
    #[pyo3(signature = (index))]
    fn embedding(&self, py: Python<'_>, index: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().embedding(index.tensor()))
    }

    /// The rows of each bag of numbers together: their sum, mean or maximum, `[bags, features]`. A bag is a row of a matrix `[bags, n]` of
    /// numbers, or what lies between two of the `offsets` in a vector, of which the first is 0, none is less than the one before it, and none is
    /// more than there are numbers (checked when they are computed). A bag without rows gives 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding_bag(unigrad.tensor([[0, 0], [1, 0]])).shape
    /// (2, 2)
    #[pyo3(signature = (index, *, mode=None, offsets=None, include_last_offset=None, weights=None, padding_idx=None, max_norm=None, norm_type=None, scale_grad_by_freq=None))]
    fn embedding_bag(
        &self,
        py: Python<'_>,
        index: &PyTensor,
        mode: Option<&str>,
        offsets: Option<&PyTensor>,
        include_last_offset: Option<bool>,
        weights: Option<&PyTensor>,
        padding_idx: Option<i64>,
        max_norm: Option<f64>,
        norm_type: Option<f64>,
        scale_grad_by_freq: Option<bool>,
    ) -> PyResult<PyTensor> {
        let mut options = EmbeddingBagOptions::default();
        if let Some(mode) = mode {
            options.mode = of_argument(py, "mode", named_bag_mode(py, mode))?;
        }
        if let Some(offsets) = offsets {
            options.offsets = Some(offsets.tensor().clone());
        }
        if let Some(include_last_offset) = include_last_offset {
            options.include_last_offset = include_last_offset;
        }
        if let Some(weights) = weights {
            options.weights = Some(weights.tensor().clone());
        }
        if let Some(padding_idx) = padding_idx {
            options.rows.padding_idx = Some(padding_idx);
        }
        if let Some(max_norm) = max_norm {
            options.rows.max_norm = Some(max_norm);
        }
        if let Some(norm_type) = norm_type {
            options.rows.norm_type = norm_type;
        }
        if let Some(scale_grad_by_freq) = scale_grad_by_freq {
            options.rows.scale_grad_by_freq = scale_grad_by_freq;
        }
        made(py, || self.tensor().embedding_bag(index.tensor(), &options))
    }

    /// `embedding` with settings: a row without gradient, gradients by frequency, and rows of a limited norm, scaled by `max_norm / (norm + 1e-7)` where their
    /// norm is greater.
    ///
    /// The table stays as it is, and the gradient is that of the scaled rows. PyTorch writes the scaled rows into the table first, and
    /// hands the gradient on as it is.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding_with(unigrad.tensor([0]))
    /// tensor([[1., 2.]])
    #[pyo3(signature = (index, *, padding_idx=None, max_norm=None, norm_type=None, scale_grad_by_freq=None))]
    fn embedding_with(
        &self,
        py: Python<'_>,
        index: &PyTensor,
        padding_idx: Option<i64>,
        max_norm: Option<f64>,
        norm_type: Option<f64>,
        scale_grad_by_freq: Option<bool>,
    ) -> PyResult<PyTensor> {
        let mut options = EmbeddingOptions::default();
        if let Some(padding_idx) = padding_idx {
            options.padding_idx = Some(padding_idx);
        }
        if let Some(max_norm) = max_norm {
            options.max_norm = Some(max_norm);
        }
        if let Some(norm_type) = norm_type {
            options.norm_type = norm_type;
        }
        if let Some(scale_grad_by_freq) = scale_grad_by_freq {
            options.scale_grad_by_freq = scale_grad_by_freq;
        }
        made(py, || self.tensor().embedding_with(index.tensor(), &options))
    }

    /// Whether equal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).eq(2.0)
    /// tensor([False,  True])
    #[pyo3(signature = (other))]
    fn eq(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().eq(given_0))
    }

    /// Error function.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).erf()
    /// tensor([0.5205, 0.9953])
    fn erf(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().erf())
    }

    /// `1 - erf(x)`, with all digits where that is small.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).erfc()
    /// tensor([0.4795, 0.0047])
    fn erfc(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().erfc())
    }

    /// Inverse of the error function: infinite at -1 and 1, NaN beyond.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.0, 0.5]).erfinv()
    /// tensor([0.0000, 0.4769])
    fn erfinv(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().erfinv())
    }

    /// `e^x`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).exp()
    /// tensor([1.6487, 7.3891])
    fn exp(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().exp())
    }

    /// `2^x`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).exp2()
    /// tensor([1.4142, 4.0000])
    fn exp2(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().exp2())
    }

    /// `e^x - 1`, exact near 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).expm1()
    /// tensor([0.6487, 6.3891])
    fn expm1(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().expm1())
    }

    /// Power in `f64`, whatever the dtype, as `torch.float_power`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).float_power(2)
    /// tensor([0.2500, 4.0000], dtype=unigrad.float64)
    #[pyo3(signature = (exponent))]
    fn float_power(&self, py: Python<'_>, exponent: Other) -> PyResult<PyTensor> {
        let given_0 = exponent.beside(py, self.tensor())?;
        made(py, || self.tensor().float_power(given_0))
    }

    /// Down to an integer; its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).floor()
    /// tensor([0., 2.])
    fn floor(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().floor())
    }

    /// Quotient rounded toward negative infinity; of integers by 0: 0. Of floats as Python's `//` and PyTorch's `floor_divide`: what is left
    /// without `rem`, divided, so `1 // 0.1` is 9 and `-3 // inf` is -1. Its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).floor_div(2.0)
    /// tensor([0., 1.])
    #[pyo3(signature = (other))]
    fn floor_div(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().floor_div(given_0))
    }

    /// The greater; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).fmax(2.0)
    /// tensor([2., 2.])
    #[pyo3(signature = (other))]
    fn fmax(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().fmax(given_0))
    }

    /// The lesser; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).fmin(unigrad.tensor([True, True]))
    /// tensor([0.5000, 1.0000])
    #[pyo3(signature = (other))]
    fn fmin(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().fmin(given_0))
    }

    /// Remainder with the sign of `self`, as C's `fmod` and `torch.fmod`; of integers by 0: 0. See `rem` for Python's.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).fmod(2.0)
    /// tensor([0.5000, 0.0000])
    #[pyo3(signature = (other))]
    fn fmod(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().fmod(given_0))
    }

    /// Binary cross-entropy of logits times `(1 - p)^gamma`, where `p` is the probability of the truth: what is known already counts little (Lin et al.,
    /// 2017). `alpha` weighs ones against zeros (`1 - alpha`); below 0 it does not. As torchvision's `sigmoid_focal_loss`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).focal_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.0087)
    #[pyo3(signature = (target, alpha=0.25, gamma=2.0, reduction="mean"))]
    fn focal_loss(&self, py: Python<'_>, target: &PyTensor, alpha: f64, gamma: f64, reduction: &str) -> PyResult<PyTensor> {
        let given_3 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().focal_loss(target.tensor(), alpha, gamma, given_3))
    }

    /// What is left after `trunc`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).fract()
    /// tensor([0.5000, 0.0000])
    fn fract(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().fract())
    }

    /// `log(var) / 2 + (x - target)² / (2 var)`, and `log(2π) / 2` more if `full`: the negative log likelihood of targets from a Gaussian whose mean is
    /// `self` (Nix and Weigend, 1994). `var` is at least `eps`; its gradient is that of `var` all the same. It has the shape of `self`, or 1 on one
    /// axis, or no last axis; the target broadcasts.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).gaussian_nll_loss(unigrad.tensor([1.0, 1.0]), unigrad.ones(2))
    /// tensor(0.3125)
    #[pyo3(signature = (target, var, full=false, eps=1e-6, reduction="mean"))]
    fn gaussian_nll_loss(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        var: &PyTensor,
        full: bool,
        eps: f64,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let given_4 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().gaussian_nll_loss(target.tensor(), var.tensor(), full, eps, given_4))
    }

    /// Greatest common divisor of integers; of 0 and 0 it is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).gcd(unigrad.tensor([1, 2]))
    /// tensor([1, 1])
    #[pyo3(signature = (other))]
    fn gcd(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().gcd(given_0))
    }

    /// Whether greater or equal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).ge(2.0)
    /// tensor([False,  True])
    #[pyo3(signature = (other))]
    fn ge(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().ge(given_0))
    }

    /// `x * (1 + erf(x / sqrt 2)) / 2`; at -inf its limit 0 (PyTorch: NaN).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).gelu()
    /// tensor([0.3457, 1.9545])
    fn gelu(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().gelu())
    }

    /// The tanh approximation of `UnaryOp::Gelu`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).gelu_tanh()
    /// tensor([0.3457, 1.9546])
    fn gelu_tanh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().gelu_tanh())
    }

    /// One half of an axis times the sigmoid of the other (Dauphin et al., 2017); the axis has an even size.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).glu()
    /// tensor([0.4404])
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn glu(&self, py: Python<'_>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().glu(dim))
    }

    /// Samples of `[n, c, h, w]` at the places of a grid `[n, out.., 2]`, which holds `(x, y)` between -1 and 1: `[n, c, out..]`. Or of
    /// `[n, c, d, h, w]` by a grid of `(x, y, z)`, as `torch.nn.functional.grid_sample`; also of `[n, c, l]`.
    ///
    /// Places that are NaN give 0 (PyTorch's CPU: NaN). Where a place is clipped, its gradient is 0. Integers compute in `f32`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 2, 4, 4).grid_sample(unigrad.zeros(1, 2, 2, 2)).shape
    /// (1, 2, 2, 2)
    #[pyo3(signature = (grid, *, mode=None, padding=None, align_corners=None))]
    fn grid_sample(
        &self,
        py: Python<'_>,
        grid: &PyTensor,
        mode: Option<&str>,
        padding: Option<&str>,
        align_corners: Option<bool>,
    ) -> PyResult<PyTensor> {
        let mut options = GridSampleOptions::default();
        if let Some(mode) = mode {
            options.mode = of_argument(py, "mode", named_grid_mode(py, mode))?;
        }
        if let Some(padding) = padding {
            options.padding = of_argument(py, "padding", named_grid_padding(py, padding))?;
        }
        if let Some(align_corners) = align_corners {
            options.align_corners = align_corners;
        }
        made(py, || self.tensor().grid_sample(grid.tensor(), &options))
    }

    /// Layer norm of `[n, c, ..]` within each of `groups` groups of channels; weight and bias are `[c]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).group_norm(2).shape
    /// (2, 2)
    #[pyo3(signature = (groups, weight=None, bias=None, eps=1e-5))]
    fn group_norm(
        &self,
        py: Python<'_>,
        groups: usize,
        weight: Option<&PyTensor>,
        bias: Option<&PyTensor>,
        eps: f64,
    ) -> PyResult<PyTensor> {
        made(py, || self.tensor().group_norm(groups, weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps))
    }

    /// Whether greater.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).gt(2.0)
    /// tensor([False, False])
    #[pyo3(signature = (other))]
    fn gt(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().gt(given_0))
    }

    /// 0 within `lambda` of 0, else `x`. Of NaN the gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hardshrink()
    /// tensor([0., 2.])
    #[pyo3(signature = (lambd=0.5))]
    fn hardshrink(&self, py: Python<'_>, lambd: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().hardshrink(lambd))
    }

    /// `relu6(x + 3) / 6`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hardsigmoid()
    /// tensor([0.5833, 0.8333])
    fn hardsigmoid(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().hardsigmoid())
    }

    /// `x * relu6(x + 3) / 6`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hardswish()
    /// tensor([0.2917, 1.6667])
    fn hardswish(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().hardswish())
    }

    /// `min(max(x, -1), 1)`; integers stay what they are. At the limits, and of NaN, the gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hardtanh()
    /// tensor([0.5000, 1.0000])
    fn hardtanh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().hardtanh())
    }

    /// `min(max(x, low), high)`; at the limits, and of NaN, the gradient is 0. `hardtanh` is that of -1 and 1.
    ///
    /// Integers stay what they are, with limits rounded toward 0, those below what the dtype holds at its least number; bools have none at all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).hardtanh_with(0, 3)
    /// tensor([3, 3])
    #[pyo3(signature = (low, high))]
    fn hardtanh_with(&self, py: Python<'_>, low: f64, high: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().hardtanh_with(low, high))
    }

    /// 0 below 0, 1 above, `at_zero` at 0; NaN gives 0, as in PyTorch. Its gradients are 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-1.0, 0.0, 2.0]).heaviside(0.5)
    /// tensor([0.0000, 0.5000, 1.0000])
    #[pyo3(signature = (at_zero))]
    fn heaviside(&self, py: Python<'_>, at_zero: Other) -> PyResult<PyTensor> {
        let given_0 = at_zero.beside(py, self.tensor())?;
        made(py, || self.tensor().heaviside(given_0))
    }

    /// `x` where the label is 1, `max(0, margin - x)` where it is -1; both for other labels: `x` is a distance.
    /// Distances and labels broadcast.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hinge_embedding_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(1.2500)
    #[pyo3(signature = (target, margin=1.0, reduction="mean"))]
    fn hinge_embedding_loss(&self, py: Python<'_>, target: &PyTensor, margin: f64, reduction: &str) -> PyResult<PyTensor> {
        let given_2 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().hinge_embedding_loss(target.tensor(), margin, given_2))
    }

    /// `sqrt(self² + other²)`, without overflow; its gradient at 0, 0 is 0 (PyTorch: NaN).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).hypot(2.0)
    /// tensor([2.0616, 2.8284])
    #[pyo3(signature = (other))]
    fn hypot(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().hypot(given_0))
    }

    /// `self` with slices of `src` in place of the slices that a vector of numbers names.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).index_copy(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
    /// tensor([7., 2.])
    #[pyo3(signature = (dim, index, src))]
    fn index_copy(&self, py: Python<'_>, dim: isize, index: &PyTensor, src: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().index_copy(dim, index.tensor(), src.tensor()))
    }

    /// `self` with `value` in the slices along an axis that a vector of numbers names. The value is a number or a tensor of rank 0, and
    /// takes the tensor's dtype. Its gradient is the sum over all places it is at (PyTorch counts a place twice that is named twice).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).index_fill(0, unigrad.tensor([0]), 9.0)
    /// tensor([9., 2.])
    #[pyo3(signature = (dim, index, value))]
    fn index_fill(&self, py: Python<'_>, dim: isize, index: &PyTensor, value: Other) -> PyResult<PyTensor> {
        let given_2 = value.within(py, self.tensor())?;
        made(py, || self.tensor().index_fill(dim, index.tensor(), given_2))
    }

    /// The sum of products over both last axes; with a number, the product with it.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).inner(unigrad.tensor([1.0, 3.0]))
    /// tensor(6.5000)
    #[pyo3(signature = (other))]
    fn inner(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().inner(other.tensor()))
    }

    /// Layer norm of `[n, c, ..]` within each channel; weight and bias are `[c]`. With running statistics, as when a model runs, it is
    /// `batch_norm`; `instance_norm_train` gives what they are updated with.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).instance_norm(unigrad.tensor([1.0, 2.0]), None, 1e-5).shape
    /// (2, 2)
    #[pyo3(signature = (weight, bias, eps))]
    fn instance_norm(&self, py: Python<'_>, weight: Option<&PyTensor>, bias: Option<&PyTensor>, eps: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().instance_norm(weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps))
    }

    /// `instance_norm`, with the means and the biased variances of each channel, averaged over the batch and cut off from gradients:
    /// `[c]` each, what running statistics are updated with (PyTorch stores the unbiased variance: times `n / (n - 1)` for `n` spatial elements).
    /// Those of half types are `f32`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).instance_norm_train(unigrad.tensor([1.0, 2.0]), unigrad.zeros(2), 1e-5)]
    /// [[[0.0, 0.0], [0.0, 0.0]], [2.0, 3.0], [0.0, 0.0]]
    #[pyo3(signature = (weight, bias, eps))]
    fn instance_norm_train<'py>(
        &self,
        py: Python<'py>,
        weight: Option<&PyTensor>,
        bias: Option<&PyTensor>,
        eps: f64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, || {
            let (part_0, part_1, part_2) = self.tensor().instance_norm_train(weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps);
            vec![part_0, part_1, part_2]
        })
    }

    /// Nearest-neighbour resize of the trailing spatial axes of `[n, c, spatial..]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 2, 4).interpolate_nearest((2,)).shape
    /// (1, 2, 2)
    #[pyo3(signature = (sizes))]
    fn interpolate_nearest(&self, py: Python<'_>, sizes: Sizes) -> PyResult<PyTensor> {
        made(py, || self.tensor().interpolate_nearest(&sizes.0))
    }

    /// Whether `|self - other| <= atol + rtol * |other|`, or both are NaN with `equal_nan`, or equal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).isclose(unigrad.tensor([1.0, 3.0]))
    /// tensor([False, False])
    #[pyo3(signature = (other, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn isclose(&self, py: Python<'_>, other: &PyTensor, rtol: f64, atol: f64, equal_nan: bool) -> PyResult<PyTensor> {
        made(py, || self.tensor().isclose(other.tensor(), rtol, atol, equal_nan))
    }

    /// Whether each element is neither infinite nor NaN.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).isfinite()
    /// tensor([True, True])
    fn isfinite(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().isfinite())
    }

    /// Whether each element is among others: a tensor of any shape, or a number.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).isin(unigrad.tensor([2.0]))
    /// tensor([False,  True])
    #[pyo3(signature = (among))]
    fn isin(&self, py: Python<'_>, among: Other) -> PyResult<PyTensor> {
        let given_0 = among.beside(py, self.tensor())?;
        made(py, || self.tensor().isin(given_0))
    }

    /// `isin`, or with `invert` whether it is not.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1, 2, 3]).isin_with(unigrad.tensor([2]), True)
    /// tensor([ True, False,  True])
    #[pyo3(signature = (among, invert))]
    fn isin_with(&self, py: Python<'_>, among: Other, invert: bool) -> PyResult<PyTensor> {
        let given_0 = among.beside(py, self.tensor())?;
        made(py, || self.tensor().isin_with(given_0, invert))
    }

    /// Whether each element is infinite.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).isinf()
    /// tensor([False, False])
    fn isinf(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().isinf())
    }

    /// Whether each element is NaN.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).isnan()
    /// tensor([False, False])
    fn isnan(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().isnan())
    }

    /// Kullback-Leibler divergence from log probabilities `self` to `target`: `t * (log t - x)`, 0 where `t` is 0, and there the gradient with
    /// respect to `t` is `-x` (PyTorch: NaN).
    ///
    /// With `log_target`, the target is log probabilities too. The mathematical mean is `Reduction::Sum` divided by the batch.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-1.0, -0.5]).kl_div(unigrad.tensor([0.4, 0.6]))
    /// tensor(0.0135)
    #[pyo3(signature = (target, log_target=false, reduction="mean"))]
    fn kl_div(&self, py: Python<'_>, target: &PyTensor, log_target: bool, reduction: &str) -> PyResult<PyTensor> {
        let given_2 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().kl_div(target.tensor(), log_target, given_2))
    }

    /// The Kronecker product: every element of `self` times the whole of `other`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).kron(unigrad.tensor([1.0, 3.0]))
    /// tensor([0.5000, 1.5000, 2.0000, 6.0000])
    #[pyo3(signature = (other))]
    fn kron(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().kron(other.tensor()))
    }

    /// `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes, as many as `weight` (or `bias`) has; the last one without both.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).layer_norm()
    /// tensor([-1.0000,  1.0000])
    #[pyo3(signature = (weight=None, bias=None, eps=1e-5))]
    fn layer_norm(&self, py: Python<'_>, weight: Option<&PyTensor>, bias: Option<&PyTensor>, eps: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().layer_norm(weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps))
    }

    /// `layer_norm` over the last axes, which have this shape; so have weight and bias, if they are given.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).layer_norm_over((2,))
    /// tensor([-1.0000,  1.0000])
    #[pyo3(signature = (shape, weight=None, bias=None, eps=1e-5))]
    fn layer_norm_over(
        &self,
        py: Python<'_>,
        shape: Sizes,
        weight: Option<&PyTensor>,
        bias: Option<&PyTensor>,
        eps: f64,
    ) -> PyResult<PyTensor> {
        made(py, || self.tensor().layer_norm_over(shape.0, weight.map(PyTensor::tensor), bias.map(PyTensor::tensor), eps))
    }

    /// Least common multiple of integers, not negative; of 0 and anything it is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).lcm(unigrad.tensor([1, 2]))
    /// tensor([ 3, 10])
    #[pyo3(signature = (other))]
    fn lcm(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().lcm(given_0))
    }

    /// Whether less or equal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).le(2.0)
    /// tensor([True, True])
    #[pyo3(signature = (other))]
    fn le(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().le(given_0))
    }

    /// `x` above 0, `slope * x` below.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).leaky_relu()
    /// tensor([3., 5.])
    #[pyo3(signature = (slope=0.01))]
    fn leaky_relu(&self, py: Python<'_>, slope: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().leaky_relu(slope))
    }

    /// `self + weight * (end - self)`; exactly `end` where the weight is 1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).lerp(unigrad.tensor([4.0, 4.0]), unigrad.tensor([1.0, 2.0]))
    /// tensor([4., 6.])
    #[pyo3(signature = (end, weight))]
    fn lerp(&self, py: Python<'_>, end: &PyTensor, weight: Other) -> PyResult<PyTensor> {
        let given_1 = weight.beside(py, self.tensor())?;
        made(py, || self.tensor().lerp(end.tensor(), given_1))
    }

    /// Logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers. Its gradient is
    /// `UnaryOp::Digamma`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).lgamma()
    /// tensor([0.5724, 0.0000])
    fn lgamma(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().lgamma())
    }

    /// `x @ wᵀ + bias` with w `[out, in]` and bias `[out]`, as PyTorch's `linear`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).linear(unigrad.ones(2, 2))
    /// tensor([2.5000, 2.5000])
    #[pyo3(signature = (weight, bias=None))]
    fn linear(&self, py: Python<'_>, weight: &PyTensor, bias: Option<&PyTensor>) -> PyResult<PyTensor> {
        made(py, || self.tensor().linear(weight.tensor(), bias.map(PyTensor::tensor)))
    }

    /// `x / (k + alpha * mean(x²))^beta` of `[n, c, ..]`, the mean over a window of `size` channels around each, of which those outside count
    /// as 0 (Krizhevsky et al., 2012).
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 2, 4).local_response_norm(2).shape
    /// (1, 2, 4)
    #[pyo3(signature = (size, alpha=1e-4, beta=0.75, k=1.0))]
    fn local_response_norm(&self, py: Python<'_>, size: usize, alpha: f64, beta: f64, k: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().local_response_norm(size, alpha, beta, k))
    }

    /// Natural logarithm.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log()
    /// tensor([-0.6931,  0.6931])
    fn log(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().log())
    }

    /// Logarithm to base 10.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log10()
    /// tensor([-0.3010,  0.3010])
    fn log10(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().log10())
    }

    /// `log(1 + x)`, exact near 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log1p()
    /// tensor([0.4055, 1.0986])
    fn log1p(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().log1p())
    }

    /// Logarithm to base 2.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log2()
    /// tensor([-1.,  1.])
    fn log2(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().log2())
    }

    /// `log(sigmoid(x))`, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log_sigmoid()
    /// tensor([-0.4741, -0.1269])
    fn log_sigmoid(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().log_sigmoid())
    }

    /// `log(e^self + e^other)`, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logaddexp(2.0)
    /// tensor([2.2014, 2.6931])
    #[pyo3(signature = (other))]
    fn logaddexp(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().logaddexp(given_0))
    }

    /// `log2(2^self + 2^other)`, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logaddexp2(2.0)
    /// tensor([2.4368, 3.0000])
    #[pyo3(signature = (other))]
    fn logaddexp2(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().logaddexp2(given_0))
    }

    /// Logarithm of the running sum of exponentials along an axis, without overflow; [off by at most](crate::accuracy)
    /// 4 i u · max(1, |yᵢ|) after i elements.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logcumsumexp(dim=0)
    /// tensor([0.5000, 2.2014])
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn logcumsumexp(&self, py: Python<'_>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = one_dim(dim, axis)?;
        made(py, || self.tensor().logcumsumexp(dim))
    }

    /// Whether both are true (not 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logical_and(2.0)
    /// tensor([True, True])
    #[pyo3(signature = (other))]
    fn logical_and(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().logical_and(given_0))
    }

    /// Whether each element is 0 (`!` of its truth).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logical_not()
    /// tensor([False, False])
    fn logical_not(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().logical_not())
    }

    /// Whether one or both are true (not 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logical_or(2.0)
    /// tensor([True, True])
    #[pyo3(signature = (other))]
    fn logical_or(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().logical_or(given_0))
    }

    /// Whether one, but not both, is true (not 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logical_xor(2.0)
    /// tensor([False, False])
    #[pyo3(signature = (other))]
    fn logical_xor(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().logical_xor(given_0))
    }

    /// `log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside of 0 to 1. With `eps`, `x` is limited to `eps..=1 - eps` first.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.25, 0.5]).logit()
    /// tensor([-1.0986,  0.0000])
    #[pyo3(signature = (eps=None))]
    fn logit(&self, py: Python<'_>, eps: Option<f64>) -> PyResult<PyTensor> {
        made(py, || self.tensor().logit(eps))
    }

    /// Whether less.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).lt(2.0)
    /// tensor([ True, False])
    #[pyo3(signature = (other))]
    fn lt(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().lt(given_0))
    }

    /// `max(0, margin - y (x - other))` with labels `y` of ±1: `self` should be ranked above `other` where `y` is 1, below where it is -1. They have
    /// as many axes each, and broadcast.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).margin_ranking_loss(unigrad.tensor([1.0, 3.0]), unigrad.tensor([1.0, 1.0]))
    /// tensor(0.7500)
    #[pyo3(signature = (other, target, margin=0.0, reduction="mean"))]
    fn margin_ranking_loss(&self, py: Python<'_>, other: &PyTensor, target: &PyTensor, margin: f64, reduction: &str) -> PyResult<PyTensor> {
        let given_3 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().margin_ranking_loss(other.tensor(), target.tensor(), margin, given_3))
    }

    /// Stops or scales nothing on the way forward; `value` where `mask` is true. The mask broadcasts. A number that the tensor's integer dtype does not hold
    /// is an error.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).masked_fill(unigrad.tensor([True, False]), 9.0)
    /// tensor([9., 2.])
    #[pyo3(signature = (mask, value))]
    fn masked_fill(&self, py: Python<'_>, mask: &PyTensor, value: Other) -> PyResult<PyTensor> {
        let given_1 = value.within(py, self.tensor())?;
        made(py, || self.tensor().masked_fill(mask.tensor(), given_1))
    }

    /// `self` with the elements of `source`, in row-major order, where `mask` is true; the two broadcast. Nothing is read: too few elements
    /// are an error when it runs.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).masked_scatter(unigrad.tensor([True, False]), unigrad.tensor([7.0]))
    /// tensor([7., 2.])
    #[pyo3(signature = (mask, source))]
    fn masked_scatter(&self, py: Python<'_>, mask: &PyTensor, source: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().masked_scatter(mask.tensor(), source.tensor()))
    }

    /// Matrix product `[.., m, k] @ [.., k, n]`; batch axes broadcast, a vector is a row on the left and a column on the right.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).matmul(unigrad.tensor([1.0, 3.0]))
    /// tensor(6.5000)
    #[pyo3(signature = (other))]
    fn matmul(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().matmul(other.tensor()))
    }

    /// The greater; NaN if either is. Where both are equal, each gets half of the gradient.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).maximum(2.0)
    /// tensor([2., 2.])
    #[pyo3(signature = (other))]
    fn maximum(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.limiting(py, self.tensor())?;
        made(py, || self.tensor().maximum(given_0))
    }

    /// The lesser; NaN if either is. Where both are equal, each gets half of the gradient.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).minimum(unigrad.tensor([True, True]))
    /// tensor([0.5000, 1.0000])
    #[pyo3(signature = (other))]
    fn minimum(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.limiting(py, self.tensor())?;
        made(py, || self.tensor().minimum(given_0))
    }

    /// `x * tanh(softplus(x))`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).mish()
    /// tensor([0.3752, 1.9440])
    fn mish(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().mish())
    }

    /// Product, element by element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1.0, 3.0]).mul(2.0)
    /// tensor([2., 6.])
    #[pyo3(signature = (other))]
    fn mul(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().mul(given_0))
    }

    /// How far other classes come within `margin` of the right one, to the power `p` (1 or 2), over the number of classes: `[n, classes]` and `[n]`
    /// class indices, or `[classes]` and one. A weight per class multiplies what its examples lose.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).multi_margin_loss(unigrad.tensor([0, 1]))
    /// tensor(0.5000)
    #[pyo3(signature = (target, p=1, margin=1.0, weight=None, reduction="mean"))]
    fn multi_margin_loss(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        p: i32,
        margin: f64,
        weight: Option<&PyTensor>,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let given_4 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().multi_margin_loss(target.tensor(), p, margin, weight.map(PyTensor::tensor), given_4))
    }

    /// How far classes that are no targets come within 1 of those that are, over the number of classes: `[n, classes]`, and class indices of the same
    /// shape, of which those before the first -1 count; or one row of both.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).multilabel_margin_loss(unigrad.tensor([0, 1]))
    /// tensor(0.)
    #[pyo3(signature = (target, reduction="mean"))]
    fn multilabel_margin_loss(&self, py: Python<'_>, target: &PyTensor, reduction: &str) -> PyResult<PyTensor> {
        let given_1 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().multilabel_margin_loss(target.tensor(), given_1))
    }

    /// Binary cross-entropy of logits with 0 or 1 for each class, mean over the classes (the last axis). A weight per class multiplies.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).multilabel_soft_margin_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3005)
    #[pyo3(signature = (target, weight=None, reduction="mean"))]
    fn multilabel_soft_margin_loss(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        weight: Option<&PyTensor>,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let given_2 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().multilabel_soft_margin_loss(target.tensor(), weight.map(PyTensor::tensor), given_2))
    }

    /// NaN becomes `nan`, infinities become `posinf` and `neginf`, which are the greatest and least finite numbers of the dtype unless given.
    /// What is replaced gets no gradient.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nan_to_num()
    /// tensor([0.5000, 2.0000])
    #[pyo3(signature = (nan=0.0, posinf=None, neginf=None))]
    fn nan_to_num(&self, py: Python<'_>, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> PyResult<PyTensor> {
        made(py, || self.tensor().nan_to_num(nan, posinf, neginf))
    }

    /// Whether different.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).ne(2.0)
    /// tensor([ True, False])
    #[pyo3(signature = (other))]
    fn ne(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().ne(given_0))
    }

    /// `-x`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).neg()
    /// tensor([-0.5000, -2.0000])
    fn neg(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().neg())
    }

    /// The next number of the dtype on the way to `other`. Its gradient is 1 with respect to `self` where the two differ, else 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nextafter(2.0)
    /// tensor([0.5000, 2.0000])
    #[pyo3(signature = (other))]
    fn nextafter(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().nextafter(given_0))
    }

    /// Divided by the `p`-norm along an axis, which counts as at least `eps`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).normalize(dim=0)
    /// tensor([0.2425, 0.9701])
    #[pyo3(signature = (p=2.0, dim=None, eps=1e-12, *, axis=None))]
    fn normalize(&self, py: Python<'_>, p: f64, dim: Option<isize>, eps: f64, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(1);
        made(py, || self.tensor().normalize(p, dim, eps))
    }

    /// The root of the sum of squares, as BLAS has it: where `norm` overflows or underflows on the way, it does not. Of zeros its gradient
    /// is 0. [Off by at most](crate::accuracy) 4 n u of itself for n elements.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nrm2()
    /// tensor(2.0616)
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn nrm2(&self, py: Python<'_>, dim: Option<PyAxes>, axis: Option<PyAxes>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(PyAxes(None));
        made(py, || self.tensor().nrm2(dim))
    }

    /// 1 at the class, 0 elsewhere, `I64`: `[.., classes]` of integers `[..]` in `0..classes`; others, negative ones too, are an error when it
    /// runs.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0, 2]).one_hot(3).tolist()
    /// [[1, 0, 0], [0, 0, 1]]
    #[pyo3(signature = (classes))]
    fn one_hot(&self, py: Python<'_>, classes: usize) -> PyResult<PyTensor> {
        made(py, || self.tensor().one_hot(classes))
    }

    /// Every element of one vector times every element of the other: `[n, m]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).outer(unigrad.tensor([1, 2])).tolist()
    /// [[3, 6], [5, 10]]
    #[pyo3(signature = (other))]
    fn outer(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().outer(other.tensor()))
    }

    /// A cache in pages, `[pages, page size, heads, features]`, with new rows (`update`, `[b, length, heads, features]`): row `i` of sequence `b`
    /// goes to position `start + i` of its keys, which is slot `position % page size` of the page that `page_table` (integers
    /// `[b, most pages]`) has at `[b, position / page size]`.
    ///
    /// `start` is an integer, or a vector with one for each sequence. A position beyond the table or a page that does not exist is an error
    /// when it runs. Of several rows for one slot the last one stays. An assignment (`cache.assign(&cache.paged_update(..))`) writes the rows in place;
    /// what reads the new cache in the same evaluation reads a copy, so evaluate the assignment first.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(2, 4, 1, 3).paged_update(unigrad.ones(1, 2, 1, 3), unigrad.tensor([[0, 1]]), unigrad.tensor([0])).shape
    /// (2, 4, 1, 3)
    #[pyo3(signature = (update, page_table, start))]
    fn paged_update(&self, py: Python<'_>, update: &PyTensor, page_table: &PyTensor, start: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().paged_update(update.tensor(), page_table.tensor(), start.tensor()))
    }

    /// The `p`-norm of `self - other + eps` over the last axis; the two broadcast. Where it is 0, its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).pairwise_distance(unigrad.tensor([1.0, 3.0]))
    /// tensor(1.1180)
    #[pyo3(signature = (other, p=2.0, eps=1e-6))]
    fn pairwise_distance(&self, py: Python<'_>, other: &PyTensor, p: f64, eps: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().pairwise_distance(other.tensor(), p, eps))
    }

    /// Channels as pixels: `[.., c * r * r, h, w]` becomes `[.., c, h * r, w * r]`, so that `out[c, h r + i, w r + j]` is channel
    /// `(c r + i) r + j` (Shi et al., 2016).
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 4, 2, 2).pixel_shuffle(2).shape
    /// (1, 1, 4, 4)
    #[pyo3(signature = (r))]
    fn pixel_shuffle(&self, py: Python<'_>, r: usize) -> PyResult<PyTensor> {
        made(py, || self.tensor().pixel_shuffle(r))
    }

    /// Pixels as channels, the way back from `pixel_shuffle`: `[.., c, h * r, w * r]` becomes `[.., c * r * r, h, w]`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 1, 4, 4).pixel_unshuffle(2).shape
    /// (1, 4, 2, 2)
    #[pyo3(signature = (r))]
    fn pixel_unshuffle(&self, py: Python<'_>, r: usize) -> PyResult<PyTensor> {
        made(py, || self.tensor().pixel_unshuffle(r))
    }

    /// `e^x - target x` where `self` is the logarithm of a rate (`log_input`), else `x - target log(x + eps)`: the negative log likelihood of counts, without
    /// the term that only depends on them; `full` adds it as Stirling's formula has it, for targets above 1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).poisson_nll_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(3.2689)
    #[pyo3(signature = (target, log_input=true, full=false, eps=1e-8, reduction="mean"))]
    fn poisson_nll_loss(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        log_input: bool,
        full: bool,
        eps: f64,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let given_4 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().poisson_nll_loss(target.tensor(), log_input, full, eps, given_4))
    }

    /// Power. Small integers and ½ as a Rust number become multiplications and square roots; any other exponent is a run-time value.
    /// Integers to a negative whole number are an error: their powers are no integers.
    ///
    /// With respect to a tensor as exponent the gradient is 0 where the base is 0 and the exponent is not negative. Where an exponent is 0, the
    /// mixed second derivative is `1 / base` (PyTorch: 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).pow(2)
    /// tensor([0.2500, 4.0000])
    #[pyo3(signature = (exponent))]
    fn pow(&self, py: Python<'_>, exponent: Other) -> PyResult<PyTensor> {
        let given_0 = exponent.beside(py, self.tensor())?;
        made(py, || self.tensor().pow(given_0))
    }

    /// `x` above 0, `weight * x` below: one weight, or one for each channel (axis 1; of a vector, axis 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).prelu(unigrad.tensor([1.0, 2.0]))
    /// tensor([3., 5.])
    #[pyo3(signature = (weight))]
    fn prelu(&self, py: Python<'_>, weight: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().prelu(weight.tensor()))
    }

    /// `self` with `values` at places by their row-major number, one for each; with `accumulate` they are added.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).put(unigrad.tensor([0]), unigrad.tensor([7.0]))
    /// tensor([7., 2.])
    #[pyo3(signature = (index, values, accumulate=false))]
    fn put(&self, py: Python<'_>, index: &PyTensor, values: &PyTensor, accumulate: bool) -> PyResult<PyTensor> {
        made(py, || self.tensor().put(index.tensor(), values.tensor(), accumulate))
    }

    /// Radians as degrees.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).rad2deg()
    /// tensor([ 28.6479, 114.5916])
    fn rad2deg(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().rad2deg())
    }

    /// `1 / x`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).recip()
    /// tensor([2.0000, 0.5000])
    fn recip(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().recip())
    }

    /// `max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-2.0, 3.0]).relu()
    /// tensor([0., 3.])
    fn relu(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().relu())
    }

    /// `min(max(x, 0), 6)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([True, False]).relu6()
    /// tensor([1, 0])
    fn relu6(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().relu6())
    }

    /// Remainder with the divisor's sign, as Python's `%`; of integers by 0: 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).rem(2.0)
    /// tensor([0.5000, 0.0000])
    #[pyo3(signature = (other))]
    fn rem(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().rem(given_0))
    }

    /// `x / sqrt(mean(x²) + eps) * weight` over the last axes, as many as `weight` has; the last one without.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).rms_norm()
    /// tensor([0.3430, 1.3720])
    #[pyo3(signature = (weight=None, eps=1e-6))]
    fn rms_norm(&self, py: Python<'_>, weight: Option<&PyTensor>, eps: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().rms_norm(weight.map(PyTensor::tensor), eps))
    }

    /// Rotates pairs of the last axis's features by angles: cos and sin are `[.., length, features / 2]` and broadcast (Su et al., 2021).
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 1, 4, 8).rope(unigrad.ones(4, 4), unigrad.zeros(4, 4), 'half_split').shape
    /// (1, 1, 4, 8)
    #[pyo3(signature = (cos, sin, layout))]
    fn rope(&self, py: Python<'_>, cos: &PyTensor, sin: &PyTensor, layout: &str) -> PyResult<PyTensor> {
        let given_2 = of_argument(py, "layout", named_rope_layout(py, layout))?;
        made(py, || self.tensor().rope(cos.tensor(), sin.tensor(), given_2))
    }

    /// `base` to the power of each element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1.0, 3.0]).rpow(2.0)
    /// tensor([2., 8.])
    #[pyo3(signature = (base))]
    fn rpow(&self, py: Python<'_>, base: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().rpow(base))
    }

    /// `1 / sqrt(x)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).rsqrt()
    /// tensor([1.4142, 0.7071])
    fn rsqrt(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().rsqrt())
    }

    /// `self` with `src` put in where `index` says: `out[p with p[axis] := index[p]] = src[p]`. Negative ones count from the end (see
    /// `gather`).
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(3).scatter(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    /// tensor([0., 0., 5.])
    #[pyo3(signature = (dim, index, src))]
    fn scatter(&self, py: Python<'_>, dim: isize, index: &PyTensor, src: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().scatter(dim, index.tensor(), src.tensor()))
    }

    /// `self` with `src` added where `index` says.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).scatter_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
    /// tensor([7.5000, 2.0000])
    #[pyo3(signature = (dim, index, src))]
    fn scatter_add(&self, py: Python<'_>, dim: isize, index: &PyTensor, src: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().scatter_add(dim, index.tensor(), src.tensor()))
    }

    /// `scatter` of one value: a number, or a tensor of rank 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).scatter_value(0, unigrad.tensor([0]), 9.0)
    /// tensor([9., 2.])
    #[pyo3(signature = (dim, index, value))]
    fn scatter_value(&self, py: Python<'_>, dim: isize, index: &PyTensor, value: Other) -> PyResult<PyTensor> {
        let given_2 = value.beside(py, self.tensor())?;
        made(py, || self.tensor().scatter_value(dim, index.tensor(), given_2))
    }

    /// `searchsorted` in a tensor that is not sorted itself: `sorter`, integers of its shape, says which of its elements is where along the
    /// last axis, as `argsort` does.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3.0, 1.0]).searchsorted_with(unigrad.tensor([2.0]), False, unigrad.tensor([1, 0]))
    /// tensor([1])
    #[pyo3(signature = (values, right, sorter))]
    fn searchsorted_with(&self, py: Python<'_>, values: Other, right: bool, sorter: &PyTensor) -> PyResult<PyTensor> {
        let given_0 = values.beside(py, self.tensor())?;
        made(py, || self.tensor().searchsorted_with(given_0, right, sorter.tensor()))
    }

    /// `scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).selu()
    /// tensor([0.5254, 2.1014])
    fn selu(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().selu())
    }

    /// Shift to the left.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).shl(unigrad.tensor([1, 2]))
    /// tensor([ 6, 20])
    #[pyo3(signature = (other))]
    fn shl(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().shl(given_0))
    }

    /// Shift to the right; the sign stays.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).shr(unigrad.tensor([1, 2]))
    /// tensor([1, 1])
    #[pyo3(signature = (other))]
    fn shr(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().shr(given_0))
    }

    /// `1 / (1 + e^-x)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sigmoid()
    /// tensor([0.6225, 0.8808])
    fn sigmoid(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sigmoid())
    }

    /// -1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-2.0, 0.0, 3.0]).sign()
    /// tensor([-1.,  0.,  1.])
    fn sign(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sign())
    }

    /// Whether the sign is set, also of -0 and NaN.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).signbit()
    /// tensor([False, False])
    fn signbit(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().signbit())
    }

    /// `x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).silu()
    /// tensor([0.3112, 1.7616])
    fn silu(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().silu())
    }

    /// Sine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sin()
    /// tensor([0.4794, 0.9093])
    fn sin(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sin())
    }

    /// `sin(πx) / (πx)`, 1 at 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sinc()
    /// tensor([6.3662e-01, 2.7828e-08])
    fn sinc(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sinc())
    }

    /// Hyperbolic sine.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sinh()
    /// tensor([0.5211, 3.6269])
    fn sinh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sinh())
    }

    /// `log(1 + e^(-y x))` with labels `y` of ±1, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).soft_margin_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3005)
    #[pyo3(signature = (target, reduction="mean"))]
    fn soft_margin_loss(&self, py: Python<'_>, target: &PyTensor, reduction: &str) -> PyResult<PyTensor> {
        let given_1 = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().soft_margin_loss(target.tensor(), given_1))
    }

    /// `softmax(-x)` along an axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).softmin(dim=0)
    /// tensor([0.8176, 0.1824])
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn softmin(&self, py: Python<'_>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = one_dim(dim, axis)?;
        made(py, || self.tensor().softmin(dim))
    }

    /// `log(1 + e^x)`, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).softplus()
    /// tensor([0.9741, 2.1269])
    fn softplus(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().softplus())
    }

    /// `log(1 + e^(beta x)) / beta`, and `x` itself where `beta x` is above `threshold`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).softplus_with(1.0, 1.0)
    /// tensor([0.9741, 2.0000])
    #[pyo3(signature = (beta, threshold))]
    fn softplus_with(&self, py: Python<'_>, beta: f64, threshold: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().softplus_with(beta, threshold))
    }

    /// Toward 0 by `lambda`, and 0 within it. Of NaN the gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).softshrink()
    /// tensor([0.0000, 1.5000])
    #[pyo3(signature = (lambd=0.5))]
    fn softshrink(&self, py: Python<'_>, lambd: f64) -> PyResult<PyTensor> {
        made(py, || self.tensor().softshrink(lambd))
    }

    /// `x / (1 + |x|)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).softsign()
    /// tensor([0.3333, 0.6667])
    fn softsign(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().softsign())
    }

    /// Square root.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sqrt()
    /// tensor([0.7071, 1.4142])
    fn sqrt(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().sqrt())
    }

    /// `x * x`; of bools `I64`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).square()
    /// tensor([0.2500, 4.0000])
    fn square(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().square())
    }

    /// As `gather`, but sizes beside the axis broadcast (NumPy's `take_along_axis`).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).take_along(0, unigrad.tensor([0]))
    /// tensor([0.5000])
    #[pyo3(signature = (dim, index))]
    fn take_along(&self, py: Python<'_>, dim: isize, index: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().take_along(dim, index.tensor()))
    }

    /// Tangent.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).tan()
    /// tensor([ 0.5463, -2.1850])
    fn tan(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().tan())
    }

    /// Hyperbolic tangent.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).tanh()
    /// tensor([0.4621, 0.9640])
    fn tanh(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().tanh())
    }

    /// `x - tanh(x)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).tanhshrink()
    /// tensor([0.0379, 1.0360])
    fn tanhshrink(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().tanhshrink())
    }

    /// The sum of products over axes of both, in the order they are named: `[rest of self.., rest of other..]`.
    #[pyo3(signature = (other, dim, other_axes))]
    fn tensordot(&self, py: Python<'_>, other: &PyTensor, dim: Ints, other_axes: Ints) -> PyResult<PyTensor> {
        made(py, || self.tensor().tensordot(other.tensor(), dim, other_axes))
    }

    /// `x` above `threshold`, else `value`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).threshold(1.0, 9.0)
    /// tensor([9., 2.])
    #[pyo3(signature = (threshold, value))]
    fn threshold(&self, py: Python<'_>, threshold: Other, value: Other) -> PyResult<PyTensor> {
        let given_0 = threshold.beside(py, self.tensor())?;
        let given_1 = value.beside(py, self.tensor())?;
        made(py, || self.tensor().threshold(given_0, given_1))
    }

    /// Sum of the main diagonal of a matrix.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).trace()
    /// tensor(5.)
    fn trace(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().trace())
    }

    /// The integral along an axis by the trapezoidal rule, with samples `dx` apart.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).trapezoid()
    /// tensor(1.2500)
    #[pyo3(signature = (dx=1.0, dim=None, *, axis=None))]
    fn trapezoid(&self, py: Python<'_>, dx: f64, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().trapezoid(dx, dim))
    }

    /// Second derivative of `UnaryOp::LGamma`; infinite at 0 and the negative integers.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).trigamma()
    /// tensor([4.9348, 0.6449])
    fn trigamma(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().trigamma())
    }

    /// `max(0, margin - d(x, positive) - d(x, negative))` over the last axis: the anchor `self` should be nearer to the positive than to the negative
    /// by the margin.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).triplet_margin_loss(unigrad.tensor([0.5, 1.0]), unigrad.tensor([3.0, 3.0]))
    /// tensor(0.)
    #[pyo3(signature = (positive, negative, *, margin=None, p=None, eps=None, swap=None, reduction=None))]
    fn triplet_margin_loss(
        &self,
        py: Python<'_>,
        positive: &PyTensor,
        negative: &PyTensor,
        margin: Option<f64>,
        p: Option<f64>,
        eps: Option<f64>,
        swap: Option<bool>,
        reduction: Option<&str>,
    ) -> PyResult<PyTensor> {
        let mut options = TripletOptions::default();
        if let Some(margin) = margin {
            options.margin = margin;
        }
        if let Some(p) = p {
            options.p = p;
        }
        if let Some(eps) = eps {
            options.eps = eps;
        }
        if let Some(swap) = swap {
            options.swap = swap;
        }
        if let Some(reduction) = reduction {
            options.reduction = of_argument(py, "reduction", named_reduction(py, reduction))?;
        }
        made(py, || self.tensor().triplet_margin_loss(positive.tensor(), negative.tensor(), &options))
    }

    /// Toward zero; its gradient is 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).trunc()
    /// tensor([0., 2.])
    fn trunc(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().trunc())
    }

    /// `self * log(1 + other)`, and 0 where `self` is 0, whatever the logarithm.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).xlog1py(2.0)
    /// tensor([0.5493, 2.1972])
    #[pyo3(signature = (other))]
    fn xlog1py(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().xlog1py(given_0))
    }

    /// `self * log(other)`, and 0 where `self` is 0, whatever the logarithm.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).xlogy(2.0)
    /// tensor([0.3466, 1.3863])
    #[pyo3(signature = (other))]
    fn xlogy(&self, py: Python<'_>, other: Other) -> PyResult<PyTensor> {
        let given_0 = other.beside(py, self.tensor())?;
        made(py, || self.tensor().xlogy(given_0))
    }
}

pub(super) fn named_bag_mode(py: Python<'_>, name: &str) -> PyResult<BagMode> {
    Ok(match name {
        "sum" => BagMode::Sum,
        "mean" => BagMode::Mean,
        "max" => BagMode::Max,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose sum, mean, max")),
    })
}

pub(super) fn named_grid_mode(py: Python<'_>, name: &str) -> PyResult<GridMode> {
    Ok(match name {
        "linear" => GridMode::Linear,
        "nearest" => GridMode::Nearest,
        "cubic" => GridMode::Cubic,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose linear, nearest, cubic")),
    })
}

pub(super) fn named_grid_padding(py: Python<'_>, name: &str) -> PyResult<GridPadding> {
    Ok(match name {
        "zeros" => GridPadding::Zeros,
        "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose zeros, border, reflection")),
    })
}

pub(super) fn named_interpolation(py: Python<'_>, name: &str) -> PyResult<Interpolation> {
    Ok(match name {
        "linear" => Interpolation::Linear,
        "lower" => Interpolation::Lower,
        "higher" => Interpolation::Higher,
        "nearest" => Interpolation::Nearest,
        "midpoint" => Interpolation::Midpoint,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose linear, lower, higher, nearest, midpoint")),
    })
}

pub(super) fn named_reduction(py: Python<'_>, name: &str) -> PyResult<Reduction> {
    Ok(match name {
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose mean, sum, none")),
    })
}

pub(super) fn named_rope_layout(py: Python<'_>, name: &str) -> PyResult<RopeLayout> {
    Ok(match name {
        "interleaved" => RopeLayout::Interleaved,
        "half_split" => RopeLayout::HalfSplit,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose interleaved, half_split")),
    })
}

pub(super) fn named_scatter_reduce(py: Python<'_>, name: &str) -> PyResult<ScatterReduce> {
    Ok(match name {
        "sum" => ScatterReduce::Sum,
        "prod" => ScatterReduce::Prod,
        "mean" => ScatterReduce::Mean,
        "max" => ScatterReduce::Max,
        "min" => ScatterReduce::Min,
        other => return Err(argument(py, format!("{other:?} is none of the choices"), "choose sum, prod, mean, max, min")),
    })
}
