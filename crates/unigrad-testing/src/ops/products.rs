//! Matrix products, convolutions, pooling.

use super::{Call, OpEntry, op};
use unigrad_tensor::{ConvOptions, PoolOptions, Tensor};

fn conv_options(c: &Call) -> ConvOptions {
    ConvOptions {
        stride: c.sizes("stride"),
        padding: c.sizes("padding").into_iter().map(|pad| (pad, pad)).collect(),
        dilation: c.sizes("dilation"),
        groups: c.args.int("groups").unwrap_or(1) as usize,
        output_padding: c.sizes("output_padding"),
    }
}

fn conv(c: &Call, n: usize) -> Vec<Tensor> {
    vec![c.x[0].conv(&c.x[1], c.x.get(2), n, &conv_options(c))]
}

fn conv_transpose(c: &Call, n: usize) -> Vec<Tensor> {
    vec![c.x[0].conv_transpose(&c.x[1], c.x.get(2), n, &conv_options(c))]
}

fn pool_options(c: &Call) -> PoolOptions {
    PoolOptions {
        kernel: c.sizes("kernel"),
        stride: c.sizes("stride"),
        padding: c.sizes("padding"),
        dilation: c.sizes("dilation"),
        ceil_mode: c.args.flag("ceil_mode"),
        count_include_pad: c.args.text("count_include_pad") != Some("0"),
    }
}

fn avg_pool(c: &Call, n: usize) -> Vec<Tensor> {
    vec![c.x[0].avg_pool(n, &pool_options(c))]
}

fn max_pool(c: &Call, n: usize) -> Vec<Tensor> {
    vec![c.x[0].max_pool(n, &pool_options(c))]
}

pub(super) const OPS: &[&[OpEntry]] = &[&[
    op("matmul", |c| {
        let turned = |i: usize, key: &str| if c.args.flag(key) { c.x[i].transpose(-1, -2) } else { c.x[i].clone() };
        vec![turned(0, "ta").matmul(&turned(1, "tb"))]
    }),
    op("dot", |c| vec![c.x[0].dot(&c.x[1])]),
    op("outer", |c| vec![c.x[0].outer(&c.x[1])]),
    op("trace", |c| vec![c.x[0].trace()]),
    op("addmm", |c| vec![c.x[0].addmm(&c.x[1], &c.x[2])]),
    op("linear", |c| vec![c.x[0].linear(&c.x[1], c.x.get(2))]),
    op("einsum", |c| vec![Tensor::einsum(&c.args.text("eq").unwrap_or_default().replace('_', " "), &c.refs())]),
    op("conv1d", |c| conv(c, 1)),
    op("conv2d", |c| conv(c, 2)),
    op("conv3d", |c| conv(c, 3)),
    op("conv_transpose1d", |c| conv_transpose(c, 1)),
    op("conv_transpose2d", |c| conv_transpose(c, 2)),
    op("conv_transpose3d", |c| conv_transpose(c, 3)),
    op("max_pool1d", |c| max_pool(c, 1)),
    op("max_pool2d", |c| max_pool(c, 2)),
    op("max_pool3d", |c| max_pool(c, 3)),
    op("avg_pool1d", |c| avg_pool(c, 1)),
    op("avg_pool2d", |c| avg_pool(c, 2)),
    op("avg_pool3d", |c| avg_pool(c, 3)),
    op("adaptive_avg_pool1d", |c| vec![c.x[0].adaptive_avg_pool(&c.sizes("output"))]),
    op("adaptive_avg_pool2d", |c| vec![c.x[0].adaptive_avg_pool(&c.sizes("output"))]),
    op("adaptive_avg_pool3d", |c| vec![c.x[0].adaptive_avg_pool(&c.sizes("output"))]),
    op("adaptive_max_pool1d", |c| vec![c.x[0].adaptive_max_pool(&c.sizes("output"))]),
    op("adaptive_max_pool2d", |c| vec![c.x[0].adaptive_max_pool(&c.sizes("output"))]),
    op("adaptive_max_pool3d", |c| vec![c.x[0].adaptive_max_pool(&c.sizes("output"))]),
]];
