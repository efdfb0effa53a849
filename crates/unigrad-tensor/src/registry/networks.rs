//! What networks of images take: resizing, samples, windows, norms, shuffles.

use super::{Call, CallError, Op, Outputs, one, op, pair};
use crate::{GridMode, GridPadding, GridSampleOptions, InterpolateMode, InterpolateOptions, PoolOptions, WindowOptions};

fn interpolate(c: &Call) -> Outputs {
    let modes = [
        ("nearest", InterpolateMode::Nearest),
        ("nearest-exact", InterpolateMode::NearestExact),
        ("linear", InterpolateMode::Linear),
        ("cubic", InterpolateMode::Cubic),
        ("area", InterpolateMode::Area),
    ];
    // A list is one of integers, so scale factors are given in quarters.
    let scales = c.maybe_ints("quarters")?.unwrap_or_default();
    let options = InterpolateOptions {
        mode: c.choice("mode", &modes)?,
        sizes: c.maybe_sizes("sizes")?.unwrap_or_default(),
        scales: scales.into_iter().map(|quarters| quarters as f64 / 4.0).collect(),
        align_corners: c.flag("align_corners")?,
        antialias: c.flag("antialias")?,
    };
    one(c.x(0)?.interpolate(&options))
}

fn grid_sample(c: &Call) -> Outputs {
    let options = GridSampleOptions {
        mode: c.choice("mode", &[("bilinear", GridMode::Linear), ("nearest", GridMode::Nearest), ("bicubic", GridMode::Cubic)])?,
        padding: c.choice(
            "padding",
            &[("zeros", GridPadding::Zeros), ("border", GridPadding::Border), ("reflection", GridPadding::Reflection)],
        )?,
        align_corners: c.flag("align_corners")?,
    };
    one(c.x(0)?.grid_sample(c.x(1)?, &options))
}

fn windows(c: &Call) -> Result<WindowOptions, CallError> {
    Ok(WindowOptions {
        kernel: c.sizes("kernel")?,
        stride: c.maybe_sizes("stride")?.unwrap_or_default(),
        padding: c.maybe_sizes("padding")?.unwrap_or_default(),
        dilation: c.maybe_sizes("dilation")?.unwrap_or_default(),
    })
}

fn pools(c: &Call) -> Result<PoolOptions, CallError> {
    Ok(PoolOptions {
        kernel: c.sizes("kernel")?,
        stride: c.maybe_sizes("stride")?.unwrap_or_default(),
        padding: c.maybe_sizes("padding")?.unwrap_or_default(),
        ..PoolOptions::new(1)
    })
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("interpolate", "interpolate", interpolate),
    op("grid_sample", "grid_sample", grid_sample).full(),
    op("affine_grid", "affine_grid", |c| one(c.x(0)?.affine_grid(&c.sizes("size")?, c.flag("align_corners")?))),
    op("avg_pool_with_divisor", "avg_pool_with_divisor", |c| {
        one(c.x(0)?.avg_pool_with_divisor(c.size("n")?, &pools(c)?, c.int("divisor")?))
    }),
    op("max_unpool1d", "max_unpool1d", |c| one(c.x(0)?.max_unpool1d(c.x(1)?, &pools(c)?, c.maybe_sizes("output")?.as_deref()))),
    op("max_unpool2d", "max_unpool2d", |c| one(c.x(0)?.max_unpool2d(c.x(1)?, &pools(c)?, c.maybe_sizes("output")?.as_deref()))),
    op("max_unpool3d", "max_unpool3d", |c| one(c.x(0)?.max_unpool3d(c.x(1)?, &pools(c)?, c.maybe_sizes("output")?.as_deref()))),
    op("im2col", "im2col", |c| one(c.x(0)?.im2col(&windows(c)?))),
    op("col2im", "col2im", |c| one(c.x(0)?.col2im(&c.sizes("sizes")?, &windows(c)?))),
    op("local_response_norm", "local_response_norm", |c| {
        one(c.x(0)?.local_response_norm(c.size("size")?, c.float("alpha")?, c.float("beta")?, c.float("k")?))
    })
    .full(),
    op("instance_norm_train", "instance_norm_train", |c| one(c.x(0)?.instance_norm_train(c.maybe(1), c.maybe(2), c.float("eps")?).0))
        .full(),
    // What running statistics are updated with: no gradients, and never a half type.
    op("instance_norm_stats", "instance_norm_train", |c| {
        let (_, mean, var) = c.x(0)?.instance_norm_train(None, None, c.float("eps")?);
        pair((mean, var))
    })
    .full()
    .step(),
    op("layer_norm_over", "layer_norm_over", |c| one(c.x(0)?.layer_norm_over(c.sizes("shape")?, c.maybe(1), c.maybe(2), c.float("eps")?)))
        .full(),
    op("pairwise_distance", "pairwise_distance", |c| one(c.x(0)?.pairwise_distance(c.x(1)?, c.float("p")?, c.float("eps")?))).full(),
    op("pixel_shuffle", "pixel_shuffle", |c| one(c.x(0)?.pixel_shuffle(c.size("r")?))),
    op("pixel_unshuffle", "pixel_unshuffle", |c| one(c.x(0)?.pixel_unshuffle(c.size("r")?))),
    op("channel_shuffle", "channel_shuffle", |c| one(c.x(0)?.channel_shuffle(c.size("groups")?))),
]];
