//! What networks are made of, by the signatures of PyTorch's `torch.nn.functional`: convolutions, pools, softmaxes, sizes, losses.

use super::{
    PyTensor, made,
    ops::named_reduction,
    reduce::{cast, named},
};
use crate::{
    arguments::{Ints, Sizes, of_argument, one_dim, size},
    dtype::PyDType,
    error::argument,
};
use pyo3::{IntoPyObjectExt, prelude::*, types::PyString};
use unigrad::tensor::{ConvOptions, CrossEntropyOptions, InterpolateMode, InterpolateOptions, PadMode, PoolOptions, WindowOptions};

/// Zeros around: sizes, or `"same"` or `"valid"`.
fn padding_of(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    kernel: &[usize],
    stride: &[usize],
    dilation: &[usize],
) -> PyResult<Vec<(usize, usize)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let Ok(name) = given.cast::<PyString>() else {
        return Ok(given.extract::<Sizes>()?.0.into_iter().map(|size| (size, size)).collect());
    };
    match name.to_str()? {
        "valid" => Ok(Vec::new()),
        "same" if stride.iter().any(|step| *step != 1) => {
            Err(argument(py, "`padding` is \"same\" with a stride", "give sizes: \"same\" is for strides of 1"))
        }
        "same" => {
            let dilation = |i: usize| dilation.get(i).or(dilation.first()).copied().unwrap_or(1); // DEFAULT: elements side by side
            let around = |(i, size): (usize, &usize)| {
                let reach = dilation(i) * size.saturating_sub(1);
                (reach / 2, reach - reach / 2)
            };
            Ok(kernel.iter().enumerate().map(around).collect())
        }
        other => Err(argument(py, format!("`padding` is {other:?}"), "give sizes, \"same\" or \"valid\"")),
    }
}

fn sizes(given: Option<Sizes>) -> Vec<usize> {
    given.map_or_else(Vec::new, |sizes| sizes.0)
}

macro_rules! convolutions {
    ($($name:ident $transposed:ident $n:literal),* $(,)?) => {
        #[pymethods]
        #[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
        impl PyTensor { $(
            #[doc = concat!("Convolution over ", $n, " spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, \"same\" or \"valid\".")]
            #[doc = ""]
            #[doc = ">>> import unigrad"]
            #[doc = concat!(">>> unigrad.ones(1, 1, *[4] * ", $n, ").", stringify!($name), "(unigrad.ones(1, 1, *[2] * ", $n, ")).shape[2:] == (3,) * ", $n)]
            #[doc = "True"]
            #[pyo3(signature = (weight, bias=None, stride=None, padding=None, dilation=None, groups=1))]
            fn $name(
                &self,
                py: Python<'_>,
                weight: &PyTensor,
                bias: Option<&PyTensor>,
                stride: Option<Sizes>,
                padding: Option<&Bound<'_, PyAny>>,
                dilation: Option<Sizes>,
                groups: i64,
            ) -> PyResult<PyTensor> {
                let (stride, dilation) = (sizes(stride), sizes(dilation));
                let shape = weight.tensor().shape();
                let padding = padding_of(py, padding, shape.get(2..).unwrap_or(&[]), &stride, &dilation);
                let padding = of_argument(py, "padding", padding)?;
                let groups = of_argument(py, "groups", size(groups))?;
                let options = ConvOptions { stride, padding, dilation, groups, ..ConvOptions::default() };
                made(py, || self.tensor().$name(weight.tensor(), bias.map(PyTensor::tensor), &options))
            }

            #[doc = concat!("Transposed convolution over ", $n, " spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.")]
            #[doc = ""]
            #[doc = ">>> import unigrad"]
            #[doc = concat!(">>> unigrad.ones(1, 1, *[4] * ", $n, ").", stringify!($transposed), "(unigrad.ones(1, 1, *[2] * ", $n, ")).shape[2:] == (5,) * ", $n)]
            #[doc = "True"]
            #[pyo3(signature = (weight, bias=None, stride=None, padding=None, output_padding=None, groups=1, dilation=None))]
            fn $transposed(
                &self,
                py: Python<'_>,
                weight: &PyTensor,
                bias: Option<&PyTensor>,
                stride: Option<Sizes>,
                padding: Option<Sizes>,
                output_padding: Option<Sizes>,
                groups: i64,
                dilation: Option<Sizes>,
            ) -> PyResult<PyTensor> {
                let padding = sizes(padding).into_iter().map(|size| (size, size)).collect();
                let (output_padding, groups) = (sizes(output_padding), of_argument(py, "groups", size(groups))?);
                let options = ConvOptions { stride: sizes(stride), padding, dilation: sizes(dilation), groups, output_padding };
                made(py, || self.tensor().$transposed(weight.tensor(), bias.map(PyTensor::tensor), &options))
            }
        )* }
    };
}
convolutions!(conv1d conv_transpose1d 1, conv2d conv_transpose2d 2, conv3d conv_transpose3d 3);

macro_rules! pools {
    ($($average:ident $greatest:ident $unpool:ident $n:literal),* $(,)?) => {
        #[pymethods]
        #[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
        impl PyTensor { $(
            #[doc = concat!("Average of each window over ", $n, " spatial axes.")]
            #[doc = ""]
            #[doc = ">>> import unigrad"]
            #[doc = concat!(">>> unigrad.ones(1, 1, *[4] * ", $n, ").", stringify!($average), "(2).shape[2:] == (2,) * ", $n)]
            #[doc = "True"]
            #[pyo3(signature = (kernel_size, stride=None, padding=None, ceil_mode=false, count_include_pad=true, divisor_override=None))]
            fn $average(
                &self,
                py: Python<'_>,
                kernel_size: Sizes,
                stride: Option<Sizes>,
                padding: Option<Sizes>,
                ceil_mode: bool,
                count_include_pad: bool,
                divisor_override: Option<i64>,
            ) -> PyResult<PyTensor> {
                let options = PoolOptions {
                    kernel: kernel_size.0,
                    stride: sizes(stride),
                    padding: sizes(padding),
                    dilation: Vec::new(),
                    ceil_mode,
                    count_include_pad,
                    divisor_override,
                };
                made(py, || self.tensor().$average(&options))
            }

            #[doc = concat!("Greatest element of each window over ", $n, " spatial axes; with `return_indices` also where it is.")]
            #[doc = ""]
            #[doc = ">>> import unigrad"]
            #[doc = concat!(">>> unigrad.ones(1, 1, *[4] * ", $n, ").", stringify!($greatest), "(2).shape[2:] == (2,) * ", $n)]
            #[doc = "True"]
            #[pyo3(signature = (kernel_size, stride=None, padding=None, dilation=None, ceil_mode=false, return_indices=false))]
            fn $greatest<'py>(
                &self,
                py: Python<'py>,
                kernel_size: Sizes,
                stride: Option<Sizes>,
                padding: Option<Sizes>,
                dilation: Option<Sizes>,
                ceil_mode: bool,
                return_indices: bool,
            ) -> PyResult<Bound<'py, PyAny>> {
                let options = PoolOptions {
                    kernel: kernel_size.0,
                    stride: sizes(stride),
                    padding: sizes(padding),
                    dilation: sizes(dilation),
                    ceil_mode,
                    count_include_pad: true,
                    divisor_override: None,
                };
                if !return_indices {
                    return made(py, || self.tensor().$greatest(&options))?.into_bound_py_any(py);
                }
                named(py, "max", || {
                    let (values, indices) = self.tensor().max_pool_with_index($n, &options);
                    vec![values, indices]
                })
            }

            #[doc = concat!("Puts values back where `max_pool", $n, "d` took them from; zeros elsewhere.")]
            #[doc = ""]
            #[doc = ">>> import unigrad"]
            #[doc = concat!(">>> unigrad.ones(1, 1, *[1] * ", $n, ").", stringify!($unpool), "(unigrad.zeros(1, 1, *[1] * ", $n, ", dtype=unigrad.int64), 2).numel() == 2 ** ", $n)]
            #[doc = "True"]
            #[pyo3(signature = (indices, kernel_size, stride=None, padding=None, output_size=None))]
            fn $unpool(
                &self,
                py: Python<'_>,
                indices: &PyTensor,
                kernel_size: Sizes,
                stride: Option<Sizes>,
                padding: Option<Sizes>,
                output_size: Option<Sizes>,
            ) -> PyResult<PyTensor> {
                let options =
                    PoolOptions { kernel: kernel_size.0, stride: sizes(stride), padding: sizes(padding), ..PoolOptions::new(1) };
                // PyTorch takes whole shapes as well.
                let output = output_size.map(|sizes| sizes.0.get(sizes.0.len().saturating_sub($n)..).unwrap_or(&[]).to_vec());
                made(py, || self.tensor().$unpool(indices.tensor(), &options, output.as_deref()))
            }
        )* }
    };
}
pools!(avg_pool1d max_pool1d max_unpool1d 1, avg_pool2d max_pool2d max_unpool2d 2, avg_pool3d max_pool3d max_unpool3d 3);

macro_rules! softmaxes {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, dtype=None, *, axis=None))]
            fn $name(&self, py: Python<'_>, dim: Option<isize>, dtype: Option<PyDType>, axis: Option<isize>) -> PyResult<PyTensor> {
                let dim = one_dim(dim, axis)?;
                made(py, || cast(self.tensor(), dtype).$name(dim))
            }
        )* }
    };
}
softmaxes!(
    /// `exp(x) / sum(exp(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(2, 4).softmax(dim=-1).tolist()[0]
    /// [0.25, 0.25, 0.25, 0.25]
    softmax,
    /// `log(softmax(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself, or 256 u where that is more.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).log_softmax(dim=0)
    /// tensor([-1.7014, -0.2014])
    log_softmax,
);

macro_rules! losses {
    ($($(#[doc = $doc:literal])* $name:ident $with:ident ($($extra:ident: $ty:ty = $default:literal)?)),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (target, *, reduction="mean" $(, $extra=$default)?))]
            fn $name(&self, py: Python<'_>, target: &PyTensor, reduction: &str $(, $extra: $ty)?) -> PyResult<PyTensor> {
                let reduction = of_argument(py, "reduction", named_reduction(py, reduction))?;
                made(py, || self.tensor().$with(target.tensor() $(, $extra)?, reduction))
            }
        )* }
    };
}
losses!(
    /// Mean (or sum) of squared differences.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).mse_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.6250)
    mse_loss mse_loss_with (),
    /// Mean (or sum) of absolute differences.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).l1_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.7500)
    l1_loss l1_loss_with (),
    /// Squared where a difference is below `beta`, else absolute; Huber's loss divided by `beta`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).smooth_l1_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3125)
    smooth_l1_loss smooth_l1_loss_with (beta: f64 = 1.0),
    /// Squared where a difference is below `delta`, else absolute.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).huber_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3125)
    huber_loss huber_loss_with (delta: f64 = 1.0),
);

#[pymethods]
impl PyTensor {
    /// Cross-entropy of logits: the target is the index of a class, or a distribution over classes.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cross_entropy(unigrad.tensor([1.0, 1.0]))
    /// tensor(1.9028)
    #[pyo3(signature = (target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0))]
    fn cross_entropy(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        weight: Option<&PyTensor>,
        ignore_index: i64,
        reduction: &str,
        label_smoothing: f64,
    ) -> PyResult<PyTensor> {
        let options = classes(py, weight, ignore_index, reduction, label_smoothing)?;
        made(py, || self.tensor().cross_entropy_with(target.tensor(), &options))
    }

    /// Negative log-likelihood of log-probabilities.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[-0.5, -1.0]]).nll_loss(unigrad.tensor([0]))
    /// tensor(0.5000)
    #[pyo3(signature = (target, weight=None, *, ignore_index=-100, reduction="mean"))]
    fn nll_loss(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        weight: Option<&PyTensor>,
        ignore_index: i64,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let options = classes(py, weight, ignore_index, reduction, 0.0)?;
        made(py, || self.tensor().nll_loss_with(target.tensor(), &options))
    }

    /// Binary cross-entropy of probabilities.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([True, False]).bce_loss(unigrad.tensor([1.0, 1.0]))
    /// tensor(50.)
    #[pyo3(signature = (target, weight=None, *, reduction="mean"))]
    fn bce_loss(&self, py: Python<'_>, target: &PyTensor, weight: Option<&PyTensor>, reduction: &str) -> PyResult<PyTensor> {
        let reduction = of_argument(py, "reduction", named_reduction(py, reduction))?;
        made(py, || self.tensor().bce_loss_with(target.tensor(), weight.map(PyTensor::tensor), reduction))
    }

    /// Binary cross-entropy of logits, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bce_with_logits(unigrad.tensor([1.0, 1.0]))
    /// tensor(0.3005)
    #[pyo3(signature = (target, weight=None, *, pos_weight=None, reduction="mean"))]
    fn bce_with_logits(
        &self,
        py: Python<'_>,
        target: &PyTensor,
        weight: Option<&PyTensor>,
        pos_weight: Option<&PyTensor>,
        reduction: &str,
    ) -> PyResult<PyTensor> {
        let reduction = of_argument(py, "reduction", named_reduction(py, reduction))?;
        let (weight, pos_weight) = (weight.map(PyTensor::tensor), pos_weight.map(PyTensor::tensor));
        made(py, || self.tensor().bce_with_logits_with(target.tensor(), weight, pos_weight, reduction))
    }

    /// Another size of the spatial axes, by PyTorch's modes: nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 1, 2, 2).interpolate((4, 4)).shape
    /// (1, 1, 4, 4)
    #[pyo3(signature = (size=None, scale_factor=None, mode="nearest", align_corners=None, antialias=false))]
    fn interpolate(
        &self,
        py: Python<'_>,
        size: Option<Sizes>,
        scale_factor: Option<&Bound<'_, PyAny>>,
        mode: &str,
        align_corners: Option<bool>,
        antialias: bool,
    ) -> PyResult<PyTensor> {
        let mode = match mode {
            "nearest" => InterpolateMode::Nearest,
            "nearest-exact" => InterpolateMode::NearestExact,
            "linear" | "bilinear" | "trilinear" => InterpolateMode::Linear,
            "bicubic" => InterpolateMode::Cubic,
            "area" => InterpolateMode::Area,
            other => {
                let help = "choose nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area";
                return Err(argument(py, format!("`mode` is {other:?}"), help));
            }
        };
        let scales = match scale_factor {
            None => Vec::new(),
            Some(given) => {
                let scales = given.extract::<f64>().map(|scale| vec![scale]).or_else(|_| given.extract::<Vec<f64>>());
                of_argument(py, "scale_factor", scales)?
            }
        };
        let align_corners = align_corners.unwrap_or(false);
        let options = InterpolateOptions { mode, sizes: sizes(size), scales, align_corners, antialias };
        made(py, || self.tensor().interpolate(&options))
    }

    /// Elements around, as PyTorch's `pad`: pairs of sizes from the last axis on, negative ones cut; `mode` is constant, reflect, replicate or
    /// circular.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).pad((1, 1))
    /// tensor([0.0000, 0.5000, 2.0000, 0.0000])
    #[pyo3(signature = (pad, mode="constant", value=None))]
    fn pad(&self, py: Python<'_>, pad: Ints, mode: &str, value: Option<f64>) -> PyResult<PyTensor> {
        let rank = self.tensor().rank();
        let Ints(pad) = pad;
        if pad.len() % 2 != 0 || pad.len() / 2 > rank {
            let cause = format!("`pad` has {} numbers for a tensor of {rank} axes", pad.len());
            return Err(argument(py, cause, "give two for each axis, from the last axis on"));
        }
        let mode = match mode {
            "constant" => PadMode::Constant(value.unwrap_or(0.0)),
            "reflect" => PadMode::Reflect,
            "replicate" => PadMode::Replicate,
            "circular" => PadMode::Circular,
            other => return Err(argument(py, format!("`mode` is {other:?}"), "choose constant, reflect, replicate or circular")),
        };
        let mut pads = vec![(0, 0); rank];
        pads.iter_mut().rev().zip(pad.chunks_exact(2)).for_each(|(to, from)| *to = (from[0], from[1]));
        made(py, || self.tensor().pad_or_cut(&pads, mode))
    }

    /// Windows as columns, `[n, c * kernel, windows]`: PyTorch's `unfold` of images.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 2, 4).im2col(2).shape
    /// (1, 4, 3)
    #[pyo3(signature = (kernel_size, dilation=None, padding=None, stride=None))]
    fn im2col(
        &self,
        py: Python<'_>,
        kernel_size: Sizes,
        dilation: Option<Sizes>,
        padding: Option<Sizes>,
        stride: Option<Sizes>,
    ) -> PyResult<PyTensor> {
        let options = WindowOptions { kernel: kernel_size.0, stride: sizes(stride), padding: sizes(padding), dilation: sizes(dilation) };
        made(py, || self.tensor().im2col(&options))
    }

    /// Columns added up to images of `output_size`: PyTorch's `fold`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(1, 4, 1).col2im((2, 2), 2).shape
    /// (1, 1, 2, 2)
    #[pyo3(signature = (output_size, kernel_size, dilation=None, padding=None, stride=None))]
    fn col2im(
        &self,
        py: Python<'_>,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Option<Sizes>,
        padding: Option<Sizes>,
        stride: Option<Sizes>,
    ) -> PyResult<PyTensor> {
        let options = WindowOptions { kernel: kernel_size.0, stride: sizes(stride), padding: sizes(padding), dilation: sizes(dilation) };
        made(py, || self.tensor().col2im(&output_size.0, &options))
    }
}

/// Settings of losses over classes.
fn classes(
    py: Python<'_>,
    weight: Option<&PyTensor>,
    ignore_index: i64,
    reduction: &str,
    label_smoothing: f64,
) -> PyResult<CrossEntropyOptions> {
    Ok(CrossEntropyOptions {
        axis: None,
        label_smoothing,
        ignore_index: Some(ignore_index),
        weight: weight.map(|weight| weight.tensor().clone()),
        reduction: of_argument(py, "reduction", named_reduction(py, reduction))?,
    })
}
