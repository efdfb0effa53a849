//! Matrix products, convolutions, pooling.

use super::{Call, CallError, Op, Outputs, one, op, pair};
use crate::{ConvOptions, PoolOptions, Tensor};

fn conv_options(c: &Call) -> Result<ConvOptions, CallError> {
    Ok(ConvOptions {
        stride: c.maybe_sizes("stride")?.unwrap_or_default(),
        padding: c.maybe_sizes("padding")?.unwrap_or_default().into_iter().map(|pad| (pad, pad)).collect(),
        dilation: c.maybe_sizes("dilation")?.unwrap_or_default(),
        groups: c.maybe_size("groups")?.unwrap_or(1),
        output_padding: c.maybe_sizes("output_padding")?.unwrap_or_default(),
    })
}

fn conv(c: &Call, n: usize) -> Outputs {
    one(c.x(0)?.conv(c.x(1)?, c.maybe(2), n, &conv_options(c)?))
}

fn conv_transpose(c: &Call, n: usize) -> Outputs {
    one(c.x(0)?.conv_transpose(c.x(1)?, c.maybe(2), n, &conv_options(c)?))
}

fn pool_options(c: &Call) -> Result<PoolOptions, CallError> {
    Ok(PoolOptions {
        kernel: c.sizes("kernel")?,
        stride: c.maybe_sizes("stride")?.unwrap_or_default(),
        padding: c.maybe_sizes("padding")?.unwrap_or_default(),
        dilation: c.maybe_sizes("dilation")?.unwrap_or_default(),
        ceil_mode: c.flag("ceil_mode")?,
        count_include_pad: !c.has("count_include_pad") || c.flag("count_include_pad")?,
        divisor_override: if c.has("divisor_override") { Some(c.int("divisor_override")?) } else { None },
    })
}

fn avg_pool(c: &Call, n: usize) -> Outputs {
    one(c.x(0)?.avg_pool(n, &pool_options(c)?))
}

fn max_pool(c: &Call, n: usize) -> Outputs {
    one(c.x(0)?.max_pool(n, &pool_options(c)?))
}

fn adaptive_avg_pool(c: &Call) -> Outputs {
    one(c.x(0)?.adaptive_avg_pool(&c.sizes("output")?))
}

fn adaptive_max_pool(c: &Call) -> Outputs {
    one(c.x(0)?.adaptive_max_pool(&c.sizes("output")?))
}

pub(super) const OPS: &[&[Op]] = &[&[
    // A right side in another dtype in memory: a half type, in which the product is then; an 8-bit float, which is read as the left side's dtype.
    op("matmul_stored", "matmul", |c| {
        let (x, to) = (c.x(0)?, super::maps::dtype(c, "to")?);
        let w = c.x(1)?.cast(to);
        one(if to.only_stores() { x.matmul(&w.cast(x.dtype())) } else { x.cast(to).matmul(&w) })
    })
    .step(),
    op("matmul_quantized", "matmul", |c| {
        let format = c.choice("format", &[("q4_0", unigrad_graph::Format::Q4_0)])?;
        let x = c.x(0)?;
        let w = c.x(1)?.quantize(format).map_err(|error| c.error(error.to_string(), "see the cause"))?;
        one(x.matmul(&w.dequantize(x.dtype()).transpose(-2, -1)))
    })
    .step()
    .reading(),
    op("matmul", "matmul", |c| {
        let turned = |i: usize, key: &str| Ok::<_, CallError>(if c.flag(key)? { c.x(i)?.transpose(-1, -2) } else { c.x(i)?.clone() });
        one(turned(0, "ta")?.matmul(&turned(1, "tb")?))
    })
    .half(),
    op("dot", "dot", |c| one(c.x(0)?.dot(c.x(1)?))).half(),
    op("outer", "outer", |c| one(c.x(0)?.outer(c.x(1)?))),
    op("trace", "trace", |c| one(c.x(0)?.trace())),
    op("addmm", "addmm", |c| one(c.x(0)?.addmm(c.x(1)?, c.x(2)?))).half(),
    op("linear", "linear", |c| one(c.x(0)?.linear(c.x(1)?, c.maybe(2)))).half(),
    // A space is no word of a case: `_` stands for it.
    op("einsum", "einsum", |c| one(Tensor::einsum(&c.text("eq")?.replace('_', " "), &c.all()))).half(),
    op("conv1d", "conv1d", |c| conv(c, 1)).half(),
    op("conv2d", "conv2d", |c| conv(c, 2)).half(),
    op("conv3d", "conv3d", |c| conv(c, 3)).half(),
    op("conv_transpose1d", "conv_transpose1d", |c| conv_transpose(c, 1)).half(),
    op("conv_transpose2d", "conv_transpose2d", |c| conv_transpose(c, 2)).half(),
    op("conv_transpose3d", "conv_transpose3d", |c| conv_transpose(c, 3)).half(),
    op("max_pool1d", "max_pool1d", |c| max_pool(c, 1)),
    op("max_pool2d", "max_pool2d", |c| max_pool(c, 2)),
    op("max_pool3d", "max_pool3d", |c| max_pool(c, 3)),
    op("max_pool2d_with_index", "max_pool_with_index", |c| pair(c.x(0)?.max_pool_with_index(2, &pool_options(c)?))),
    op("avg_pool1d", "avg_pool1d", |c| avg_pool(c, 1)),
    op("avg_pool2d", "avg_pool2d", |c| avg_pool(c, 2)),
    op("avg_pool3d", "avg_pool3d", |c| avg_pool(c, 3)),
    op("adaptive_avg_pool1d", "adaptive_avg_pool", adaptive_avg_pool),
    op("adaptive_avg_pool2d", "adaptive_avg_pool", adaptive_avg_pool),
    op("adaptive_avg_pool3d", "adaptive_avg_pool", adaptive_avg_pool),
    op("adaptive_max_pool1d", "adaptive_max_pool", adaptive_max_pool),
    op("adaptive_max_pool2d", "adaptive_max_pool", adaptive_max_pool),
    op("adaptive_max_pool3d", "adaptive_max_pool", adaptive_max_pool),
]];
